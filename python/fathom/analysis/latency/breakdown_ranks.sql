-- Time of each process in each layer, over all its calls; layer null: how many own calls there are and how long they took.
with recursive {units},
{stacked}
select who, layer, sum(calls)::bigint as calls, sum(inclusive)::bigint as inclusive, sum(exclusive)::bigint as exclusive, sum(after)::bigint as after
from stacked
group by who, layer
union all
select who, null, count(*)::bigint, sum(duration)::bigint, 0, 0
from unit
group by who
order by who, layer
