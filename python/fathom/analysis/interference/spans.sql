-- When at least one call of the run was at each server; gaps shorter than $gap ns are closed, so that there are few spans. Calls that begin in the same
-- $gap have a shorter one between them, whatever they are: they are summed up first.
with {storage},
slot as (
	select server, key, min(start) as start, max(start + duration) as stop
	from at_server
	group by server, key, start // $gap
),
marked as (
	select
		*,
		coalesce(
			start - max(stop) over (partition by server, key order by start rows between unbounded preceding and 1 preceding) >= $gap, true
		) as fresh
	from slot
),
numbered as (
	select *, sum(fresh::int) over (partition by server, key order by start rows unbounded preceding) as number from marked
)
select server, key, min(start) as start, max(stop) as stop
from numbered
group by server, key, number
order by server, key, start
