-- The outermost calls that took the longest: $top; 0: all. Those of regions hold several own calls.
with recursive {units}
select process, call, who, time
from (
	select process, call, who, duration as time from unit where outermost
	union all
	select process, call, any_value(who), sum(duration) from unit where not outermost group by process, call
)
order by time desc, who, call
{top}
