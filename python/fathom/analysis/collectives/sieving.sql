-- What functions of MPI-IO asked for of each file, and what system calls inside them moved of it: by counters, so at levels file
-- and call. A write's reads fetch what it leaves as it was, to write it back; locks keep others away meanwhile.
with asked as (
	select op, file, any_value(kind) as operation, sum(calls) as calls, sum(bytes) as bytes
	from counters
	where layer = 'mpiio' and kind in ('read', 'write') and file is not null
	group by op, file
),
below as (
	select
		enclosing as op,
		file,
		sum(calls) filter (kind = 'read') as reads,
		sum(bytes) filter (kind = 'read') as bytes_read,
		sum(calls) filter (kind = 'write') as writes,
		sum(bytes) filter (kind = 'write') as bytes_written,
		sum(unaligned_file) filter (kind in ('read', 'write')) as unaligned,
		sum(calls) filter (op in ('fcntl', 'flock', 'lockf')) as locks,
		sum(time) filter (op in ('fcntl', 'flock', 'lockf')) as lock_time
	from counters
	where layer = 'posix' and enclosing_layer = 'mpiio'
	group by enclosing, file
)
select
	a.op,
	f.path,
	a.operation,
	a.calls::bigint as calls,
	a.bytes::hugeint as bytes,
	coalesce(b.reads, 0)::bigint as reads,
	coalesce(b.bytes_read, 0)::hugeint as bytes_read,
	coalesce(b.writes, 0)::bigint as writes,
	coalesce(b.bytes_written, 0)::hugeint as bytes_written,
	coalesce(b.unaligned, 0)::bigint as unaligned,
	coalesce(b.locks, 0)::bigint as locks,
	coalesce(b.lock_time, 0)::hugeint as lock_time
from asked as a left join below as b using (op, file) left join files as f using (file)
order by bytes_read + bytes_written - a.bytes desc, path, op
