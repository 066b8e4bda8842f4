-- ns of I/O in each of $bins equal parts of the run, over all processes: the calls' intervals, cut at the parts' ends.
select least(bin, $bins - 1) as bin, sum(least(stop, (bin + 1) * ns) - greatest(start, bin * ns))::bigint as time
from (
	select unnest(range(greatest(0, start) // ns, greatest(start, stop - 1) // ns + 1)) as bin, start, stop, ns
	from io, (select greatest(1, ceil(duration / $bins))::bigint as ns from runs)
)
group by all
order by all
