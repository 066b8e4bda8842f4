-- ns during which at least one of the calls ran, of each process: the union of their intervals.
select process, sum(greatest(0, stop - greatest(start, coalesce(covered, start))))::bigint as busy
from (
	select
		process,
		start,
		stop,
		max(stop) over (partition by process order by start rows between unbounded preceding and 1 preceding) as covered
	from io
)
group by process
