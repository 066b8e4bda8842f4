-- ns during which at least one outermost I/O call of the process ran. One thread's outermost calls
-- never overlap, so only processes with more threads need the union.
with outermost as (
	select process, stream, start, duration
	from calls
	where depth = 0 and layer <> 'fathom' and kind <> 'comm'
),
sums as (
	select process, sum(duration)::bigint as busy, min(stream) <> max(stream) as threaded
	from outermost
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
	from outermost semi join (from sums where threaded) using (process)
)
select process, busy
from sums
where not threaded
union all
select process, sum(greatest(0, stop - greatest(start, coalesce(covered, start))))::bigint
from seen
group by process
