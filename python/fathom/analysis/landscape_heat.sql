-- As landscape_when, from the heat map. It knows no calls around calls: of each process and part, the layer with the most time,
-- since what a lower layer does, the upper one waits for.
with width as (select greatest(1, ceil(duration / $bins))::bigint as ns from runs),
cut as (
	select
		unnest(range(greatest(0, start) // ns, greatest(start, stop - 1) // ns + 1)) as bin,
		process, layer, start, stop, time / greatest(1, stop - start) as density, ns
	from heat, width
	where $layer::varchar is null or layer = $layer
),
each as (
	select bin, process, layer, sum(density * (least(stop, (bin + 1) * ns) - greatest(start, bin * ns))) as time
	from cut
	group by all
),
most as (select bin, process, max(time) as time from each group by all)
select least(bin, $bins - 1) as bin, sum(time)::bigint as time from most group by all order by all
