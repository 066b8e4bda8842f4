-- Time of each process in each layer, over all its calls; layer null: how many own calls there are and how long they took.
with recursive {units},
{stacked},
summed as materialized (
	select who, layer, sum(calls) as calls, sum(inclusive) as inclusive, sum(exclusive) as exclusive, sum(after) as after,
		sum(units) as units, sum(units_time) as units_time
	from stacked
	group by who, layer
)
select who, layer, calls::bigint as calls, inclusive::hugeint as inclusive, exclusive::hugeint as exclusive, after::hugeint as after
from summed
union all
select who, null, sum(units), sum(units_time), 0, 0
from summed
group by who
order by who, layer
