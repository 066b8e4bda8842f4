-- Calls of MPI-IO inside which more was moved than they asked for: the most first. A collective call's ranks move one another's
-- bytes, so they count together, as the call of the first.
with data as (
	select id, collective, rank, op, kind, file, start, greatest(coalesce(bytes, 0), 0) as bytes, duration
	from calls
	where layer = 'mpiio' and kind in ('read', 'write') and file is not null
),
below as (
	select
		s.parent as id,
		sum(s.bytes) filter (s.kind = 'read' and s.bytes > 0 and s.file = d.file) as bytes_read,
		sum(s.bytes) filter (s.kind = 'write' and s.bytes > 0 and s.file = d.file) as bytes_written,
		count(*) filter (s.kind = 'read' and s.file = d.file) as reads,
		count(*) filter (s.kind = 'write' and s.file = d.file) as writes,
		count(*) filter (s.op in ('fcntl', 'flock', 'lockf')) as locks,
		sum(s.duration) filter (s.op in ('fcntl', 'flock', 'lockf')) as lock_time
	from calls as s join data as d on s.parent = d.id
	where s.layer = 'posix' and (s.kind in ('read', 'write') or s.op in ('fcntl', 'flock', 'lockf'))
	group by s.parent
),
together as (
	select
		min(d.id) as call,
		d.collective,
		count(*) as ranks,
		case when count(*) = 1 then any_value(d.rank) end as rank,
		any_value(d.op) as op,
		any_value(d.kind) as operation,
		any_value(d.file) as file,
		min(d.start) as start,
		sum(d.bytes) as bytes,
		sum(coalesce(b.reads, 0)) as reads,
		sum(coalesce(b.bytes_read, 0)) as bytes_read,
		sum(coalesce(b.writes, 0)) as writes,
		sum(coalesce(b.bytes_written, 0)) as bytes_written,
		sum(coalesce(b.locks, 0)) as locks,
		sum(coalesce(b.lock_time, 0)) as lock_time,
		sum(d.duration) as time
	from data as d left join below as b using (id)
	group by d.collective, case when d.collective is null then d.id end
)
select
	call,
	rank,
	ranks,
	t.op,
	operation,
	f.path,
	start,
	bytes::hugeint as bytes,
	reads::bigint as reads,
	bytes_read::hugeint as bytes_read,
	writes::bigint as writes,
	bytes_written::hugeint as bytes_written,
	locks::bigint as locks,
	lock_time::hugeint as lock_time,
	time::hugeint as time
from together as t left join files as f using (file)
where bytes_read + bytes_written > bytes or locks > 0
order by bytes_read + bytes_written - bytes desc, start
limit 10000
