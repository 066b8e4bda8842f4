-- ns during which at least one call of the layer ran, anywhere in the run: the union of the calls'
-- intervals. In order of start, each call adds what lies beyond the furthest stop before it.
with seen as (
	select
		layer,
		start,
		start + duration as stop,
		max(start + duration) over (
			partition by layer order by start
			rows between unbounded preceding and 1 preceding
		) as covered
	from calls
)
select layer, sum(greatest(0, stop - greatest(start, coalesce(covered, start))))::bigint as busy
from seen
group by layer
