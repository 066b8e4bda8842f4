-- Each file. Bytes are those of the lowest layer that moved any, so that one transfer seen in three
-- layers counts once; time is that of outermost calls, regions of the program not counted among them.
with sums as (
	select
		file,
		count(distinct process) as processes,
		sum(calls) as calls,
		sum(calls) filter (kind = 'open') as opens,
		sum(bytes) filter (kind = 'read' and layer in ('posix', 'aio')) as posix_read,
		sum(bytes) filter (kind = 'write' and layer in ('posix', 'aio')) as posix_written,
		sum(bytes) filter (kind = 'read' and layer = 'mpiio') as mpiio_read,
		sum(bytes) filter (kind = 'write' and layer = 'mpiio') as mpiio_written,
		sum(bytes) filter (kind = 'read') as any_read,
		sum(bytes) filter (kind = 'write') as any_written,
		sum(time) filter ({outermost}) as time
	from counters
	where layer <> 'fathom' and file is not null
	group by file
)
select
	sums.file,
	coalesce(f.path, '') as path,
	coalesce(f.kind, 'unknown') as kind,
	processes,
	calls::bigint as calls,
	coalesce(opens, 0)::bigint as opens,
	coalesce(nullif(posix_read, 0), nullif(mpiio_read, 0), any_read, 0)::hugeint as bytes_read,
	coalesce(nullif(posix_written, 0), nullif(mpiio_written, 0), any_written, 0)::hugeint
		as bytes_written,
	coalesce(time, 0)::hugeint as time
from sums left join files as f using (file)
order by time desc, path
