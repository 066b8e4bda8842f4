-- The longest of each process's own I/O calls, to be named as examples. Columns: process, calls (up to 8 `calls.id`).
select process, max_by(id, duration, 8) as calls
from calls
where depth = 0 and kind in ('open', 'read', 'write', 'sync', 'close') and layer not in ('mpi', 'fathom', 'user', 'threads')
group by process
