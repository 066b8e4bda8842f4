-- Collective reads and writes by function and file: how their time was spent, summed over ranks. The exchange is that of
-- counters, less the time in which ranks waited in it for the last one.
with operations as (
{operations}
),
of_functions as (
	select
		op,
		sum(time) filter (layer = 'mpi') as exchange,
		bool_and(known) as known
	from (
		select enclosing as op, layer, time, process in ({romio}) as known
		from counters
		where enclosing_layer = 'mpiio' and layer in ('mpi', 'posix')
	)
	group by op
),
each as (
	select
		op,
		operation,
		path,
		count(*) as operations,
		max(ranks) as ranks,
		sum(bytes) as bytes,
		min(aggregators) as least_aggregators,
		max(aggregators) as aggregators,
		max(aggregator_nodes) as aggregator_nodes,
		list(distinct domains order by domains) as domains,
		max(chunk_bytes) as chunk_bytes,
		sum(system_calls) as system_calls,
		max(rounds) as rounds,
		sum(elapsed) as elapsed,
		sum(time) as time,
		if(count(wait) = count(*), sum(wait), null) as wait,
		sum(io) as io
	from operations
	group by op, operation, path
),
whole as (
	select op, sum(time) as time, if(count(wait) = count(*), sum(wait), null) as wait, count(*) as files
	from each
	group by op
)
select
	e.op,
	operation,
	path,
	operations,
	ranks,
	e.bytes::hugeint as bytes,
	least_aggregators,
	aggregators,
	aggregator_nodes,
	e.domains,
	chunk_bytes,
	system_calls::bigint as system_calls,
	rounds,
	elapsed::hugeint as elapsed,
	e.time::hugeint as time,
	e.wait::hugeint as wait,
	-- counters know the function of all ranks, not the file: only one file's share is sure, and of operations seen of all ranks
	case when c.known and w.files = 1 and w.wait is not null then greatest(c.exchange - w.wait, 0) end::hugeint as exchange,
	e.io::hugeint as io
from each as e join whole as w using (op) left join of_functions as c using (op)
order by time desc, op, path
