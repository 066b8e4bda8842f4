-- Samples of nodes by bins of {width} ns from {begin} on. What only grows is a rate (bytes and counts per second; of times the share of one
-- processor, device or task); memory is as it was. Between two rows a value is a straight line. Of each group of measures and unit the {tracks}
-- that reach highest.
with line as (
	select
		node, what, device, unit, time as start, lead(time) over each as stop, value, lead(value) over each as next,
		what like 'memory.%' or what in ('agent.memory', 'threads') as level
	from samples
	where process is null and {chosen}
	window each as (partition by node, what, device order by time)
),
drawn as (
	select
		node, what, device, if(level, unit, case unit when 'bytes' then 'bytes/s' when 'ns' then 'share' else 'count' end) as unit,
		if(level, value, (next - value) * if(unit = 'ns', 1, 1e9) / (stop - start)) as a, if(level, next, a) as z, start, stop
	from line
	where stop > greatest(start, {begin}) and start < {begin} + {bins} * {width}::bigint
),
highest as (
	select node, what, device
	from drawn
	group by node, what, device, unit
	qualify row_number() over (partition by split_part(what, '.', 1), unit order by max(greatest(a, z)) desc, node, what, device) <= {tracks}
),
placed as (
	select
		d.* exclude (a, z), a, z,
		unnest(range(greatest(0, (start - {begin}) // {width}), least({bins} - 1, (stop - 1 - {begin}) // {width}) + 1)) as bin
	from drawn as d join highest as h on h.node = d.node and h.what = d.what and h.device is not distinct from d.device
),
cut as (
	select
		*, a + (z - a) * (greatest(start, {begin} + bin * {width}) - start) / (stop - start) as first,
		a + (z - a) * (least(stop, {begin} + (bin + 1) * {width}) - start) / (stop - start) as last
	from placed
)
select
	node, what, coalesce(device, '') as device, any_value(unit) as unit, bin::integer as bin, ({begin} + bin * {width}::bigint)::bigint as time,
	min(least(first, last))::double as least, max(greatest(first, last))::double as most
from cut
group by node, what, device, bin
order by node, what, device, bin
