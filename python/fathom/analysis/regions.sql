-- Regions and marks of the program (fathom.h), by name; `own` is the I/O called in them directly, not in a region
-- inside them.
with own as (
	select enclosing as region, sum(time) as time
	from counters as c
	where enclosing_layer = 'user' and {any_io}
	group by enclosing
)
select
	op as region,
	sum(calls) as calls,
	sum(c.time) as time,
	max(longest) as longest,
	coalesce(any_value(own.time), 0)::hugeint as own,
	count(distinct process) as processes
from counters as c left join own on own.region = c.op
where layer = 'user'
group by op
order by time desc, region
