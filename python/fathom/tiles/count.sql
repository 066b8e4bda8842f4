-- How many cells a level would have, at most: those in which a call starts, about, and all that calls last into beyond it.
with {one}
select
	approx_count_distinct(hash(layer, op, lane // {lanes}, greatest(start, 0) // {width}))::bigint
		+ coalesce(sum(greatest(0, (start + duration - 1) // {width} - greatest(start, 0) // {width})), 0)::bigint as cells
from one
