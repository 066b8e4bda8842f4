-- Bytes that each process read and wrote: by system calls; where none was recorded, by MPI-IO, else by the program's own calls. Not what MPI
-- moves to start and to communicate, and not what went through sockets and pipes.
with data as (
	select process, layer, c.kind, bytes, enclosing is null or enclosing_layer in ('user', 'threads') as own
	from counters as c left join files as f using (file)
	where c.kind in ('read', 'write') and layer not in ('user', 'fathom')
		and (f.kind is null or f.kind not in ('socket', 'fifo') and f.path not like 'anon_inode:%')
		and (enclosing is null or enclosing_layer <> 'mpi' and (enclosing_layer, enclosing) not in (select (layer, op) from ops where kind = 'comm'))
),
lowest as (
	select case when bool_or(layer = 'posix' and bytes > 0) then 'posix' when bool_or(layer = 'mpiio' and bytes > 0) then 'mpiio' end as name
	from data
),
chosen as (
	from data, lowest where layer = name or name is null and own
)
select
	process,
	coalesce(sum(bytes) filter (kind = 'read'), 0)::bigint as bytes_read,
	coalesce(sum(bytes) filter (kind = 'write'), 0)::bigint as bytes_written
from processes left join chosen using (process)
group by process
order by process
