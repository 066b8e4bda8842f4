-- title:  Bulk numbers as text
-- layer:  stdio, fortran
-- limit:  printf, scanf, or formatted statements of Fortran move a MiB and more of a file. They take 3 ns a byte and more for text. Of words that was
--   0.5 ns on a machine where numbers took 6 to 13. At level `job`, which knows no files, of all together
-- says:   {path}: {n:count} calls of {op} {did} {size:size} of text; formatting took {seconds:seconds} of the slowest process
-- lost:   that time less a copy of the text at 1 GB/s
-- sure:   0.6
-- fix:    {what} arrays as they are in memory{how}. Text only of what people read
-- needs:  counters
-- causes: library
-- when:   exists (from counters where is_formatted(op))
-- seen:   two million doubles, measured: 0.48 s by fprintf with %.17g, 0.01 s by one fwrite; Carns et al. 2011 (Darshan) for streams
with example as (
	select coalesce(p.place, 'all files') as path, c.layer, c.kind, max_by(c.id, c.duration, 8) as calls
	from calls as c join places() as p using (file)
	where is_formatted(c.op) and c.kind in ('read', 'write')
	group by all
)
select
	path,
	kind as what,
	layer as cell_layer,
	kind as cell_way,
	arg_max(files, seconds) as cell_files,
	any_value(op) as op,
	if(kind = 'write', 'wrote', 'read') as did,
	case layer
		when 'stdio' then ': f' || kind || ' of many numbers at once'
		else ': open(access="stream", form="unformatted"), a ' || kind || ' of a whole array'
	end as how,
	sum(n)::hugeint as n,
	sum(bytes)::hugeint as size,
	max(seconds) as seconds,
	coalesce(any_value(e.calls), []) as calls,
	max(seconds - bytes / 1e9) as lost
from conversions() left join example as e using (path, layer, kind)
where formatted and seconds >= 3e-9 * bytes
group by path, layer, kind
having sum(bytes) >= 1048576
