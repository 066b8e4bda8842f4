-- What MPI communicated: for the program, and below MPI-IO (the exchange, or as much of it as can be seen).
select
	if(enclosing_layer = 'mpiio', 'mpi < mpiio', 'mpi') as layer,
	sum(calls) as calls,
	sum(bytes) as bytes,
	sum(time) / 1e9 as exclusive_seconds,
	sum(time) / 1e9 as inclusive_seconds
from counters
where layer = 'mpi' and coalesce(enclosing_layer, 'user') in ('mpiio', 'user', 'threads')
group by all
