-- The same of each of the outermost calls that took the longest.
with recursive {units},
chosen as materialized (
	select *
	from (
		select process, call, who, duration as time
		from unit
		where outermost
		union all
		select process, call, any_value(who), sum(duration)
		from unit
		where not outermost
		group by process, call
	)
	order by time desc, who, call
	{top}
),
picked as materialized (
	select * from unit semi join chosen using (process, call)
),
{stacked},
{outer_call},
summed as (
	select process, call, layer, sum(calls) as calls, sum(inclusive) as inclusive, sum(exclusive) as exclusive, sum(after) as after
	from stacked
	group by process, call, layer
)
select
	c.who, process, call, o.op, o.start, c.time::bigint as time, s.layer, s.calls::bigint as calls, s.inclusive::bigint as inclusive,
	s.exclusive::bigint as exclusive, s.after::bigint as after
from summed as s join chosen as c using (process, call) left join outer_call as o using (process, call)
order by c.who, process, call, layer
