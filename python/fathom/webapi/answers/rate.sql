-- Bytes that each layer read and wrote in each bin of time, from heat: of every level.
select
	start as time,
	layer,
	coalesce(sum(bytes) filter (operation = 'read'), 0) as "bytes read",
	coalesce(sum(bytes) filter (operation = 'write'), 0) as "bytes written"
from heat
where layer not in ('fathom', 'user', 'threads', 'mpi')
group by start, layer
order by start, layer
