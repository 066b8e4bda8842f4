-- ns during which at least one outermost I/O call of the process ran. One thread's outermost calls
-- never overlap, so only processes with more threads need the union.
-- Regions of the program (layer user) and waits for threads are no I/O: what they hold is outermost.
with recursive region as (
	select id from calls where layer in ('user', 'threads') and parent is null
	union all
	select c.id from region join calls as c on c.parent = region.id where c.layer in ('user', 'threads')
),
-- A copy of all rows would cost more than looking at them twice.
outermost as not materialized (
	select process, stream, start, duration
	from calls
	where (depth = 0 or parent in (from region)) and layer not in ('fathom', 'user', 'threads') and kind <> 'comm'
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
