-- What an agent read of the system: levels (memory) as they are, counters as what they grew by per second. Of processes, by node.
with steps as (
	select
		node, device, what, unit, value, time,
		what like 'memory.%' or what in ('threads', 'agent.memory') as is_level,
		process is not null as of_process,
		(value - lag(value) over moment) / nullif(time - lag(time) over moment, 0) * 1e9 as per_second,
		time - lag(time) over moment as lasted
	from samples
	window moment as (partition by node, process, what, device order by time)
)
select
	n.host,
	what,
	device,
	if(of_process, 'process', 'node') as of,
	unit,
	is_level,
	if(is_level, avg(value), sum(per_second * lasted) / nullif(sum(lasted) filter (per_second is not null), 0)) as mean,
	if(is_level, max(value), max(per_second)) as most
from steps left join nodes as n using (node)
group by n.host, what, device, of_process, unit, is_level
having mean is not null
order by n.host, of desc, what, device
