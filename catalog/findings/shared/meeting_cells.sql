-- What each process did to each cell of a contended file, where the range of its accesses that begin there meets one of another's and
-- one of the two wrote. Bounds the work of all that stands on it: of most runs nothing is left out; else cells are taken from the files'
-- begins on until they hold half a million accesses, and of one process in one cell some 65,536, drawn by chance.
-- Columns: file, process, cell, every (one access in so many is looked at).
with hull as (
	select
		file, process, (a.begins - c.begins) // c.width as cell,
		min(a.begins) as begins, max(ends) as ends, min(a.begins) filter (wrote) as write_begins, max(ends) filter (wrote) as write_ends,
		count(*) as n
	from ({to_bytes}) as a join {contended} as c using (file)
	group by file, process, cell
),
-- By where they begin: an earlier one reaches into this, or a later one begins inside it.
met as (
	select
		*,
		max(ends) over before > write_begins or max(write_ends) over before > begins
			or min(begins) over after < write_ends or min(write_begins) over after < ends as meets
	from hull
	window
		before as (partition by file order by begins, process, cell rows between unbounded preceding and 1 preceding),
		after as (partition by file order by begins, process, cell rows between 1 following and unbounded following)
)
select file, process, cell, n // 65536 + 1 as every
from met
where meets
qualify coalesce(sum(least(n, 65536)) over (order by cell, file, process rows between unbounded preceding and 1 preceding), 0) < 500000
