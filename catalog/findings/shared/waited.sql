-- How long each rank waited for others: its own MPI communication and its own collective I/O, MPI's start left out. Ranks are processes of
-- an MPI job; a null time: communication was not even counted. Columns: process, rank, waited (ns).
with counted as (
	select count(*) > 0 as any_ from counters where layer = 'mpi'
),
own as (
	select c.process, sum(c.time)::hugeint as waited
	from counters as c left join ops as o on o.layer = c.layer and o.op = c.op
	where {outermost}
		and (c.layer = 'mpi' and c.op not like 'MPI_Init%' or c.layer in ('mpiio', 'hdf5', 'netcdf', 'pnetcdf') and o.collective)
	group by c.process
)
select p.process, p.rank, if(counted.any_, coalesce(own.waited, 0), null) as waited
from processes as p left join own using (process), counted
where p.rank is not null
