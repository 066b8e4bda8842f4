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
with example as (
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
from conversions() left join example as e using (path, kind)
where layer = 'fortran' and not formatted and n >= 1000 and bytes < 4096 * n
group by path, kind
having max(seconds - bytes / 1e9) > 0
