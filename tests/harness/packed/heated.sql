-- What `heat` holds of the rows of `generated_calls`, added to table `heated`: bins are bin_time() ns.
insert into heated
with spread as (
	select
		process, layer, kind, start, duration, bytes, bin,
		greatest(least(start + duration, (bin + 1) * bin_time()) - greatest(start, bin * bin_time()), 0) as inside
	from (
		select *, unnest(range(start // bin_time(), (start + greatest(duration, 1) - 1) // bin_time() + 1)) as bin
		from generated_calls where kind in ('read', 'write')
	)
)
select
	process, layer, kind, bin, count(*) filter (start // bin_time() = bin), round(sum(bytes * inside / greatest(duration, 1))), sum(inside)
from spread
group by process, layer, kind, bin;
