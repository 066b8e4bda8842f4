-- ns during which at least one outermost call of the process ran. One thread's outermost calls never
-- overlap, so only processes with more threads need the union.
with outermost as (
	select process, stream, start, duration
	from calls
	where depth = 0 and layer <> 'fathom' and kind <> 'comm'
),
threads as (
	select process, count(distinct stream) as streams from outermost group by process
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
	from outermost semi join (from threads where streams > 1) using (process)
)
select process, sum(duration)::bigint as busy
from outermost semi join (from threads where streams = 1) using (process)
group by process
union all
select process, sum(greatest(0, stop - greatest(start, coalesce(covered, start))))::bigint
from seen
group by process
