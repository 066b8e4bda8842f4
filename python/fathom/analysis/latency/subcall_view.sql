-- Sub-calls of the chosen calls, the $top that waited longest for a server; 0: all. In which server: the first of those.
with recursive {picked},
{numbered},
each as (
	select
		who, process, call, subcall, any_value(op) as op, min(start) as start, count(*) as servers,
		arg_max({time: time, number: number}, {time: time, number: -number}) as most,
		arg_min({time: time, number: number}, {time: time, number: number}) as least
	from mine
	group by who, process, call, subcall
),
few as (
	select * from each order by most.time desc, who, process, call, subcall {top}
)
select
	who, call, subcall, op, start, servers::bigint as servers,
	most.time as longest, most.number as longest_number,
	least.time as shortest, least.number as shortest_number
from few
order by who, process, call, subcall
