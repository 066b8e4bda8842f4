-- The outermost calls that reached the servers asked for and took the longest: $top; 0: all. Those of regions hold several own calls.
with recursive {units},
{requests},
{single}
select process, call, who, time::hugeint as time
from (
	select * from (select process, call, who, took as time from single order by time desc, who, call {top})
	union all
	select process, call, any_value(who), sum(took)
	from (select distinct unit, process, call, who, took from request where not single)
	group by process, call
)
order by time desc, who, call
{top}
