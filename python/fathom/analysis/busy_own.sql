-- ns during which at least one of the program's own I/O calls ran, anywhere: the union of their intervals, found as in busy.sql.
with recursive {own_calls},
starts as (
	select start as a from own order by a
),
stops as (
	select start + duration as z from own order by z
),
pairs as (
	select a, z, lead(a) over () as following from starts positional join stops
)
select max(z) - min(a) - sum(greatest(0, coalesce(following, z) - z)) as busy from pairs
