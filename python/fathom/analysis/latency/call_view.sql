-- Each of the chosen outermost calls, from the process's view: what it asked of servers, and of which it waited longest. Equation 2.2: throughput
-- of the servers of a call adds up. $active, $inactive: watts of a server's disk while it serves the call, and while it does not.
with recursive {picked},
{numbered},
each as (
	select
		process, call, number, any_value(who) as who, any_value(took) as took, sum(time) as time, sum(bytes) as bytes,
		sum(if(accesses > 0, time, 0)) as data_time
	from mine
	group by unit, process, call, number
),
per_server as (
	select
		process, call, number,
		sum(bytes) / nullif(sum(data_time), 0) as rate,
		sum(least(time, took) * $active + (took - least(time, took)) * $inactive) as energy
	from each
	group by process, call, number
),
server_sums as (
	select process, call, sum(rate) as rate, sum(energy) as energy from per_server group by process, call
),
took as (
	select process, call, sum(duration) as time from picked where id in (select unit from mine) group by process, call
),
{outer_call},
summed as (
	select
		who, process, call,
		count(distinct id) as subcalls,
		sum(requests) as requests,
		sum(accesses) as accesses,
		count(distinct number) as servers,
		sum(bytes) as bytes,
		sum(time) as server_time,
		avg(time) as mean,
		sum(after) as after,
		arg_max({time: time, number: number, subcall: subcall}, {time: time, first: -subcall, number: -number}) as most,
		arg_min({time: time, number: number, subcall: subcall}, {time: time, first: subcall, number: number}) as least
	from mine
	group by who, process, call
)
select
	s.who, s.process, s.call, o.op, o.start, c.time::hugeint as time, subcalls, requests, accesses, servers, s.bytes, server_time, mean, s.after,
	most.time as longest, most.number as longest_number, most.subcall as longest_subcall,
	least.time as shortest, least.number as shortest_number, least.subcall as shortest_subcall,
	p.rate * 1e3 as server_rate, s.bytes / nullif(c.time, 0) * 1e3 as rate, p.energy
from summed as s join took as c using (process, call) join server_sums as p using (process, call) left join outer_call as o using (process, call)
order by s.who, s.process, s.call
