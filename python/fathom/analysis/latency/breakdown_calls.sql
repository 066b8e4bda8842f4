-- As breakdown_ranks.sql, of each of the chosen outermost calls.
with recursive {picked},
{stacked},
{outer_call},
took as (
	select process, call, any_value(who) as who, sum(duration) as time from picked group by process, call
),
summed as (
	select process, call, layer, sum(calls) as calls, sum(inclusive) as inclusive, sum(exclusive) as exclusive, sum(after) as after
	from stacked
	group by process, call, layer
)
select
	t.who, process, call, o.op, o.start, t.time::hugeint as time, s.layer, s.calls::bigint as calls, s.inclusive::hugeint as inclusive,
	s.exclusive::hugeint as exclusive, s.after::hugeint as after
from summed as s join took as t using (process, call) left join outer_call as o using (process, call)
order by t.who, process, call, layer
