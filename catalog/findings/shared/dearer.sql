-- Reads and writes that do not lie as they might and take half as long again as those of this run that do (`matched`), of the same
-- directory, direction and size (or larger ones); fewer than 16, or less slow, is chance. Of each file and direction.
-- Columns: mistake (`order`: they do not begin where the one before ended; `page`: of a page and more, they do not begin and end at
-- multiples of 4,096), path, what, n, size, each, other (seconds of one; of one that lies well), calls, lost.
with wrong as (
	select *, 'order' as mistake from {accesses} where layer = 'posix' and place in ('ahead', 'back')
	union all
	select *, 'page' from {accesses} where layer = 'posix' and not aligned and bin >= 12
),
apart as (
	select
		w.mistake, p.place as path, p.directory, w.kind as what, w.process, w.stream, w.bin, sum(w.n) as n, sum(w.bytes) as bytes,
		exp(sum(w.log_time) / sum(w.n)) / 1e9 as each, max_by(w.worst, w.longest, 8) as worst
	from wrong as w join {places} as p using (file)
	group by w.mistake, p.place, p.directory, w.kind, w.process, w.stream, w.bin
),
beside as (
	select a.*, if(a.mistake = 'order', m.on_end, m.on_page) as well
	from apart as a join {matched} as m on m.directory = a.directory and m.kind = a.what and m.bin = a.bin
),
thread as (
	select
		mistake, path, what, process, stream, sum(n) as n, sum(bytes) as bytes, sum(n * each) as spent, sum(n * well) as other,
		flatten(list(worst)) as worst
	from beside
	where well is not null
	group by mistake, path, what, process, stream
)
select
	mistake,
	path,
	what,
	sum(n)::hugeint as n,
	sum(bytes) / sum(n) as size,
	sum(spent) / sum(n) as each,
	sum(other) / sum(n) as other,
	list_slice(flatten(list(worst)), 1, 8) as calls,
	max(spent - other) as lost
from thread
group by mistake, path, what
having sum(n) >= 16 and sum(spent) > 1.5 * sum(other)
