-- Files that several processes move data of, one of them writing, and whose ranges meet. Each is cut into cells of equal width: at most
-- 4096, and so many that a process has some 16 accesses in one.
-- Columns: file, begins (first byte moved), width (bytes of a cell).
with several as (
	select file from counters
	where kind in ('read', 'write') and file is not null
	group by file having count(distinct process) > 1 and bool_or(kind = 'write')
),
span as (
	select file, process, min(begins) as begins, max(ends) as ends, bool_or(wrote) as wrote, count(*) as n
	from ({to_bytes}) semi join several using (file)
	group by file, process
),
met as (
	select *, begins < max(ends) over (partition by file order by begins rows between unbounded preceding and 1 preceding) as meets from span
)
select
	file, min(begins) as begins,
	((max(ends) - min(begins)) // least(4096, greatest(1, sum(n) // (16 * count(*)))) + 1)::bigint as width
from met group by file having bool_or(meets) and bool_or(wrote)
