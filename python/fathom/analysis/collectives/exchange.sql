-- Each collective MPI-IO function, and each other below which the library communicated: of its time, what was exchange (the
-- library's own MPI calls), what was I/O of files, and the rest. The exchange is known of processes that use ROMIO. Sockets that MPI
-- itself reads are no I/O.
with romio as (
{romio}
),
below as (
	select
		process,
		enclosing as op,
		sum(time) filter (layer = 'mpi') as exchange,
		sum(time) filter (layer in ('posix', 'stdio', 'aio') and coalesce(f.kind, '') not in ('socket', 'fifo')) as posix
	from counters left join files as f using (file)
	where enclosing_layer = 'mpiio'
	group by process, enclosing
),
own as (
	select process, op, sum(calls) as calls, sum(time) as time
	from counters
	where layer = 'mpiio' and (
		op in (select op from ops where layer = 'mpiio' and collective)
		or op in (select op from below where exchange > 0)
	)
	group by process, op
)
select
	op,
	sum(calls) as calls,
	sum(time) as time,
	coalesce(sum(exchange), 0) as exchange,
	coalesce(sum(posix), 0) as posix,
	bool_and(process in (from romio)) as known
from own left join below using (process, op)
group by op
order by time desc, op
