-- Reads and writes (and their posts) on the highest layer, and how many were recorded in full. `inside`: some calls lie inside of what the
-- program or its own catalogue named.
with known as (
	select unnest(['netcdf', 'pnetcdf', 'hdf5', 'mpiio', 'stdio', 'aio', 'posix', 'mpi', 'fathom']) as layer
),
data as (
	select calls, recorded, enclosing_layer
	from counters as c left join files as f using (file), (select bool_or(rank is not null) as mpi from processes) as job
	join processes as p on p.process = c.process
	where {direction} is not null
		and (enclosing_layer is null or enclosing_layer not in (from known)) and c.layer in (from known) and c.layer not in ('mpi', 'fathom')
		and (p.rank is not null or not job.mpi) and {of_files}
)
select
	coalesce(sum(calls), 0) as calls,
	coalesce(sum(recorded), 0) as recorded,
	coalesce(bool_or(enclosing_layer is not null and recorded > 0), false) as inside
from data
