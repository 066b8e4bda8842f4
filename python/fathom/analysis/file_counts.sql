-- How many files were read only, written only, both or neither, and by one process or by several: Darshan's file count table.
with each as (
	select
		file,
		count(distinct process) as processes,
		coalesce(max(c.bytes) filter (c.kind = 'read'), 0) > 0 as was_read,
		coalesce(max(c.bytes) filter (c.kind = 'write'), 0) > 0 as was_written,
		coalesce(sum(c.bytes) filter (c.kind = 'read' and layer in ('posix', 'aio')), 0) as posix_read,
		coalesce(sum(c.bytes) filter (c.kind = 'write' and layer in ('posix', 'aio')), 0) as posix_written,
		coalesce(sum(c.bytes) filter (c.kind in ('read', 'write') and layer not in ('posix', 'aio') and enclosing is null), 0) as other
	from counters as c join files as f using (file)
	where layer not in ('fathom', 'user', 'threads', 'mpi') and coalesce(f.kind, 'unknown') in ('regular', 'unknown') and {of_files}
		and (enclosing is null or (enclosing_layer, enclosing) not in (select (layer, op) from ops where kind = 'comm'))
	group by file
)
select
	case when was_read and was_written then 'read and written' when was_read then 'read only' when was_written then 'written only' else 'no data' end as use,
	count(*)::bigint as files,
	count(*) filter (processes = 1)::bigint as by_one,
	count(*) filter (processes > 1)::bigint as shared,
	sum(if(posix_read + posix_written > 0, posix_read + posix_written, other)) as bytes,
	max(if(posix_read + posix_written > 0, posix_read + posix_written, other))::hugeint as most_bytes
from each
group by use
order by bytes desc, files desc, use
