-- The same from `heat`, which is there at every level: reads and writes only. Its parts are spread evenly over those asked for; of
-- layers inside one another the one with the most time counts. $layers: those that the program calls itself; what MPI reads and writes to start
-- and to communicate is of others, as far as the program calls MPI-IO or more.
with {heat_lines},
spread as (
	select process, layer, operation, time, start, stop, unnest(range(start // width, greatest(start, stop - 1) // width + 1)) as bin, width
	from heat, part
	where list_contains($layers, layer)
),
layers as (
	select process, layer, operation as kind, bin,
		sum(time * ((least(stop, (bin + 1) * width) - greatest(start, bin * width)) / greatest(1, stop - start))) as time
	from spread
	group by process, layer, operation, bin
),
cell as (
	select line, owner, maker, bin, time
	from (select process, kind, bin, max(time)::hugeint as time from layers group by process, kind, bin) join who using (process)
),
{heat_sums}
