-- Which ranks read and wrote each file, at every level that tells files apart. `files`: its name with numbers as `*`.
select
	c.file,
	any_value(f.path) as path,
	any_value({file_group}) as files,
	list(distinct coalesce(p.rank, p.process)::bigint) as who
from counters as c join files as f using (file) join processes as p using (process), (select bool_or(rank is not null) as mpi from processes) as job
where {direction} is not null and (p.rank is not null or not job.mpi)
	and (enclosing_layer is null or enclosing_layer not in ('netcdf', 'pnetcdf', 'hdf5', 'mpiio', 'stdio', 'aio', 'posix', 'mpi', 'fathom'))
	and c.layer not in ('user', 'threads', 'mpi', 'fathom') and {of_files}
group by c.file
order by c.file
