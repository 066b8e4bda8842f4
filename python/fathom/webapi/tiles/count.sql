-- How many cells a level would have, at most: those in which a call starts, about, and those that calls last into beyond it, each once; the
-- latter, for which calls are sorted, are left out where the former alone are more than {most}. Of every {every}th row `one` is, as many times as much. Each
-- row by itself, so that the counts of some rows each add up to that of all.
with {one},
{placed},
started as (
	select coalesce({every} * sum(cells), 0) as cells
	from (select approx_count_distinct(hash(layer, op, first_bin)) as cells from placed group by row)
),
lasting as (
	select first_bin, last_bin, max(last_bin) over (
		partition by layer, op, row order by first_bin rows between unbounded preceding and 1 preceding
	) as before
	from placed
	where last_bin > first_bin and (select cells from started) <= {most}
)
select
	((select cells from started) + {every} * coalesce(sum(greatest(0, last_bin - greatest(first_bin, coalesce(before, first_bin)))), 0))::bigint as cells
from lasting
