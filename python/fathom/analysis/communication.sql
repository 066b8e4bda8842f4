-- Each function of MPI communication that the program called: over all ranks, and the rank that spent most in it.
with each as (
	select c.op, p.rank, sum(c.calls) as calls, sum(c.errors) as errors, sum(c.bytes) as bytes, sum(c.time) as time, max(c.longest) as longest
	from counters as c join processes as p using (process)
	where c.layer = 'mpi' and c.enclosing_layer is distinct from 'mpiio'
	group by c.op, c.process, p.rank
)
select
	op,
	sum(calls) as calls,
	sum(errors) as errors,
	sum(bytes) as bytes,
	sum(time) as time,
	min(time)::hugeint as least,
	max(time)::hugeint as most,
	arg_max(rank, {time: time, first: -rank}) as slowest,
	max(longest) as longest
from each
group by op
order by time desc, op
