-- Of each process: time of its I/O, of opening, writing and closing, and bytes, in files that $group matches.
with {landscape_io}
select
	process,
	coalesce(sum(time), 0) as io,
	coalesce(sum(time) filter (operation in ('open', 'write', 'close')), 0) as write,
	coalesce(sum(bytes) filter (operation = 'write'), 0) as bytes_written,
	coalesce(sum(bytes) filter (operation = 'read'), 0) as bytes_read,
	list(distinct io.path) filter (operation = 'write') as written
from io join files as f using (file)
where f.kind in ('regular', 'unknown') and ($group::varchar is null or io.path glob $group)
group by process
