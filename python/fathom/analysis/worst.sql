-- The longest of the own I/O calls of each process in `suspects`, to be named as examples.
select process, max_by(id, duration, 8) as calls
from calls
where process in (select process from suspects)
	and depth = 0 and kind in ('open', 'read', 'write', 'sync', 'close') and layer not in ('mpi', 'fathom', 'user', 'threads')
group by process
