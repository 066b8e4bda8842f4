-- Each of the chosen outermost calls and the servers that it reached.
with recursive {picked},
{numbered},
each as (
	select
		who, process, call, unit, number, any_value(took) as took, count(*) as subcalls, sum(requests) as requests,
		sum(accesses) as accesses, sum(bytes) as bytes, sum(time) as time, sum(if(accesses > 0, time, 0)) as data_time,
		max(time) as longest, min(time) as shortest, sum(after) as after
	from mine
	group by all
)
select
	who, call, number, sum(subcalls) as subcalls, sum(requests) as requests, sum(accesses) as accesses,
	sum(bytes) as bytes, sum(time) as server_time, sum(time) / sum(subcalls) as mean, max(longest)::bigint as longest,
	min(shortest)::bigint as shortest, sum(after) as after, sum(bytes) / nullif(sum(data_time), 0) * 1e3 as server_rate,
	sum(least(time, took) * $active + (took - least(time, took)) * $inactive) as energy
from each
group by who, process, call, number
order by who, process, call, number
