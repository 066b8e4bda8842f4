-- title:  Fortran records of a few numbers
-- layer:  fortran
-- limit:  1,000 unformatted statements or more of a process on a file move less than 4 KiB each. At level `job`, which knows no files, of all together
-- says:   {path}: {n:count} statements {op} of {each:size} each by {who}; libgfortran took {seconds:seconds} of the slowest for them
-- lost:   that time less a copy of the bytes at 1 GB/s
-- sure:   0.6
-- fix:    one {what} of the whole array. In files without access="stream" each record has two marks of 4 bytes beside its numbers
-- needs:  counters
-- causes: library
-- when:   (select coalesce(sum(calls), 0) from counters where layer = 'fortran' and op in ('WRITE_unformatted', 'READ_unformatted')) >= 1000
-- seen:   four million numbers, a record each, and read again, measured: 1.0 s, and 0.1 s by one statement each
with statement as (
	select process, file, kind, op, sum(calls - errors) as n, 0 as bytes
	from counters
	where layer = 'fortran' and op in ('WRITE_unformatted', 'READ_unformatted')
	group by all
	union all
	select process, file, kind, null, 0, sum(bytes)
	from counters
	where enclosing_layer = 'fortran' and enclosing in ('WRITE_unformatted', 'READ_unformatted') and is_system(layer) and kind in ('read', 'write')
	group by all
),
moved as (
	select process, file, kind, any_value(op) as op, sum(n)::double as n, sum(bytes)::double as bytes from statement group by process, file, kind
),
cells as (
	select process, file, kind, sum(time) / 1e9 as seconds
	from account()
	where cause = 'library' and layer = 'fortran' and op in ('WRITE_unformatted', 'READ_unformatted')
	group by all
),
process as (
	select
		coalesce(p.place, 'all files') as path, m.kind, m.process, any_value(m.op) as op, list(m.file) filter (m.file is not null) as files, sum(m.n) as n,
		sum(m.bytes) as bytes, sum(c.seconds) as seconds
	from moved as m join cells as c on c.process = m.process and c.kind = m.kind and c.file is not distinct from m.file
		left join places() as p on p.file = m.file
	where m.file is null or p.file is not null
	group by p.place, m.kind, m.process
	having sum(m.n) >= 1000 and sum(m.bytes) < 4096 * sum(m.n)
),
example as (
	select coalesce(p.place, 'all files') as path, c.kind, max_by(c.id, c.duration, 8) as calls
	from calls as c join places() as p using (file)
	where c.layer = 'fortran' and c.op in ('WRITE_unformatted', 'READ_unformatted')
	group by all
)
select
	path,
	kind as what,
	'fortran' as cell_layer,
	kind as cell_way,
	arg_max(files, seconds) as cell_files,
	any_value(op) as op,
	sum(n)::hugeint as n,
	sum(bytes) / sum(n) as each,
	if(count(*) = 1, 'one process', format('{} processes', count(*))) as who,
	max(seconds) as seconds,
	coalesce(any_value(e.calls), []) as calls,
	max(seconds - bytes / 1e9) as lost
from process left join example as e using (path, kind)
group by path, kind
having max(seconds - bytes / 1e9) > 0
