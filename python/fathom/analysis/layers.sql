-- Totals of each layer's I/O calls; regions of the program (layer user) are none, and those that only start, end or describe MPI (kind comm) are none. A call inside another of the same layer is not added to `inclusive` again;
-- `exclusive` is what no recorded call below explains; `communication` is what the layer's library asked of MPI inside these calls.
with own as (
	select
		layer,
		sum(calls) as calls,
		sum(recorded) as recorded,
		sum(errors) as errors,
		sum(bytes) filter (enclosing_layer is distinct from layer) as bytes,
		sum(time) filter (enclosing_layer is distinct from layer) as inclusive,
		sum(time) as every
	from counters as c
	where {any_io}
	group by layer
),
below as (
	select enclosing_layer as layer, sum(time) as time, sum(time) filter (kind = 'comm') as communication
	from counters
	where enclosing_layer is not null
		and (enclosing_layer, enclosing) not in (select (layer, op) from ops where kind = 'comm')
	group by enclosing_layer
)
select
	own.layer,
	own.calls::bigint as calls,
	own.recorded::bigint as recorded,
	own.errors::bigint as errors,
	coalesce(own.bytes, 0)::hugeint as bytes,
	coalesce(own.inclusive, 0)::hugeint as inclusive,
	greatest(0, own.every - coalesce(below.time, 0))::hugeint as exclusive,
	coalesce(below.communication, 0)::hugeint as communication
from own left join below using (layer)
order by inclusive desc, own.layer
