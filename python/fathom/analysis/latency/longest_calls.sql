-- The outermost calls that reached the servers asked for and took the longest: $top; 0: all. Those of regions hold several own calls. Without
-- traced servers a call of its own that is no request itself reached one by what it holds.
with recursive {units},
{requests},
{single},
reached as not materialized (
	select unit from request where not single
)
select process, call, time::bigint as time
from (
	select * from (select process, call, who, time from single order by time desc, who, call {top})
	union all
	select process, call, who, took
	from (from outer_holder where not $traced and outermost and id in (from reached) order by took desc, who, call {top})
	union all
	select process, call, any_value(who), sum(duration)
	from (from unit where (not outermost or $traced) and id in (from reached))
	group by process, call
)
order by time desc, who, call
{top}
