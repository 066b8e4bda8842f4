-- The outermost calls of the units, numbered from 0 in each process or rank. A part, after units.sql.
outermost_call as (
	select who, process, call, collective from unit where outermost
	union all
	select any_value(who), process, call, null from unit where not outermost group by process, call
),
placed as (
	select who, process, call, collective, row_number() over (partition by who order by process, call) - 1 as position from outermost_call
)
