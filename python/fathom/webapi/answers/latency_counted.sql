-- From counters, where no call was recorded one by one: how often, and between what.
select layer, op, sum(calls) as calls, sum(time) as time, min(shortest)::bigint as shortest, max(longest)::bigint as longest
from counters as c
where {selected} and {any_io}
group by layer, op
order by time desc, layer, op
