-- What an agent read of the system: levels (memory) as they are, by time; counters as what they grew by per second. Of all processes of a
-- node together. CPU, memory, network and disk first, and what never was anything last.
with steps as (
	select
		node, device, what, unit, value, time,
		what like 'memory.%' or what in ('threads', 'agent.memory') as is_level,
		process is not null as of_process,
		value - lag(value) over moment as grew,
		(value + lag(value) over moment) / 2 as between_them,
		time - lag(time) over moment as lasted
	from samples
	where what <> 'critical'
	window moment as (partition by node, process, what, device order by time)
),
each as (
	select
		node, what, device, of_process, unit, is_level,
		sum(if(is_level, between_them * lasted, grew * 1e9)) / nullif(sum(lasted) filter (grew is not null), 0) as mean,
		max(if(is_level, value, grew * 1e9 / nullif(lasted, 0))) as most
	from steps
	group by all
)
select n.host, what, device, if(of_process, 'process', 'node') as of, unit, is_level, mean, most
from each left join nodes as n using (node)
where mean is not null
order by most = 0, coalesce(list_position([
	'cpu.user', 'cpu.system', 'cpu.iowait', 'memory.peak', 'net.rx_bytes', 'net.tx_bytes', 'disk.read_bytes', 'disk.write_bytes',
	'disk.busy', 'pressure.io.some', 'storage.read_bytes', 'storage.write_bytes'
], what), 100), what, of, n.host, device
