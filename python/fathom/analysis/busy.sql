-- ns during which at least one I/O call of $layer ran, anywhere in the run: the union of the calls'
-- intervals. With starts a(1..n) and stops z(1..n), each sorted alone, nothing runs between z(i) and
-- a(i+1) whenever z(i) < a(i+1), and only then; so the union is the whole span less these gaps.
-- Two sorts of single numbers are three times as fast as a running maximum over sorted pairs.
with starts as (
	select start as a from calls where layer = $layer and kind <> 'comm' order by a
),
stops as (
	select start + duration as z from calls where layer = $layer and kind <> 'comm' order by z
),
pairs as (
	select a, z, lead(a) over () as following from starts positional join stops
)
select max(z) - min(a) - sum(greatest(0, coalesce(following, z) - z)) as busy from pairs
