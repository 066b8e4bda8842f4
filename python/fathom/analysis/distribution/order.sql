-- Of the reads and writes of each file by offsets: which share begins where the one before ended or behind it, at every level. The first after
-- each opening has none before it; where fewer than 8 have one, nothing is said.
with own as (
	select *
	from counters
	where file is not null and layer in ('mpiio', 'stdio', 'aio', 'posix')
		and (enclosing_layer is null or enclosing_layer not in ('netcdf', 'pnetcdf', 'hdf5', 'mpiio', 'stdio', 'aio', 'posix', 'mpi', 'fathom'))
),
opened as (
	select file, layer, sum(calls) as opens from own where kind = 'open' group by file, layer
),
accessed as (
	select file, layer, kind as direction, sum(sequential) as sequential, sum(calls - errors) as accesses, count(distinct process) as processes
	from own
	where kind in ('read', 'write') and sequential is not null
	group by file, layer, kind
)
select file, layer, direction, sequential / (accesses - greatest(coalesce(opens, 0), processes)) as forward
from accessed left join opened using (file, layer)
where accesses - greatest(coalesce(opens, 0), processes) >= 8
