-- Of each process: time of its I/O, of opening, writing and closing, and bytes, in files that $group matches.
with {landscape_io}
select
	process,
	coalesce(sum(time), 0)::bigint as io,
	coalesce(sum(time) filter (operation in ('open', 'write', 'close')), 0)::bigint as write,
	coalesce(sum(bytes) filter (operation = 'write'), 0)::bigint as bytes_written,
	coalesce(sum(bytes) filter (operation = 'read'), 0)::bigint as bytes_read,
	list(distinct io.path) filter (operation = 'write') as written
from io join files as f using (file)
where f.kind in ('regular', 'unknown') and ($group::varchar is null or io.path glob $group)
group by process
