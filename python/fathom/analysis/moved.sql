-- Bytes that each process moved itself, by the lowest layers: not what its calls asked of others. What MPI's start and end read
-- and write is no I/O of the program.
select
	process,
	any_value(p.rank) as rank,
	coalesce(sum(c.bytes) filter (c.kind = 'read'), 0)::bigint as bytes_read,
	coalesce(sum(c.bytes) filter (c.kind = 'write'), 0)::bigint as bytes_written,
	sum(c.time)::bigint as time
from counters as c join processes as p using (process) left join files as f using (file)
where layer in ('posix', 'stdio', 'aio') and c.kind in ('read', 'write')
	and coalesce(enclosing_layer, '') not in ('posix', 'stdio', 'aio', 'mpi')
	and coalesce(f.kind, '') not in ('socket', 'fifo')
	and (enclosing_layer, enclosing) not in (select (layer, op) from ops where kind = 'comm')
group by process
order by process
