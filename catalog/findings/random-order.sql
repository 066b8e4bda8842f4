-- title:  Accesses in random order
-- layer:  posix
-- limit:  accesses that do not begin where the one before ended take half as long again as those of this run that do, of the same
--   directory, direction and size (or larger ones); fewer than 16, or less slow, is chance
-- says:   {path}: {n:count} {what}s of {size:size} on average go back or jump ahead and take {each:seconds} each; in order they take {other:seconds}
-- lost:   what those of the slowest thread took more
-- sure:   0.7
-- fix:    sort the accesses by offset before they are made, or read a larger piece once and pick from it in memory; a layout of the
--   file in the order of use
-- seen:   Carns et al. 2011 (Darshan: sequential, consecutive); drishti P11, P13 count them without their cost
with apart as (
	select
		p.place as path, p.directory, a.kind as what, a.process, a.stream, a.bin, sum(a.n) as n, sum(a.bytes) as bytes, sum(a.time) / 1e9 as time,
		exp(sum(a.log_time) / sum(a.n)) / 1e9 as each, max_by(a.worst, a.longest, 8) as worst
	from {accesses} as a join {places} as p using (file)
	where a.layer = 'posix' and a.place in ('ahead', 'back')
	group by p.place, p.directory, a.kind, a.process, a.stream, a.bin
),
thread as (
	select
		path, what, process, stream, sum(n) as n, sum(bytes) as bytes, sum(n * a.each) as spent, sum(n * m.on_end) as other,
		flatten(list(worst)) as worst
	from apart as a join {matched} as m on m.directory = a.directory and m.kind = a.what and m.bin = a.bin
	where m.on_end is not null
	group by path, what, process, stream
)
select
	path,
	what,
	sum(n)::bigint as n,
	sum(bytes) / sum(n) as size,
	sum(spent) / sum(n) as each,
	sum(other) / sum(n) as other,
	list_slice(flatten(list(worst)), 1, 8) as calls,
	max(spent - other) as lost
from thread
group by path, what
having sum(n) >= 16 and sum(spent) > 1.5 * sum(other)
