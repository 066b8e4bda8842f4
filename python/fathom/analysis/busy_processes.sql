-- ns during which at least one of the process's own I/O calls ran. One thread's never overlap, so only processes with more threads
-- need the union.
with recursive {own_calls},
sums as (
	select process, sum(duration) as busy, min(stream) <> max(stream) as threaded
	from own
	group by process
),
seen as (
	select
		process,
		start,
		start + duration as stop,
		max(start + duration) over (
			partition by process order by start
			rows between unbounded preceding and 1 preceding
		) as covered
	from own semi join (from sums where threaded) using (process)
)
select process, busy
from sums
where not threaded
union all
select process, sum(greatest(0, stop - greatest(start, coalesce(covered, start))))
from seen
group by process
