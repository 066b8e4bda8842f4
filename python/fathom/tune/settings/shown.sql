-- What a recorded run of a small program shows of one file: the figures that knobs are proved by. What OMPIO writes is posted.
with accesses as (
	select c.op, c.layer, c.process, c.file_offset, coalesce(c.bytes, c.size) as bytes,
		case
			when c.layer = 'posix' then c.kind
			when c.layer = 'aio' and c.kind = 'post' and c.op like '%write%' then 'write'
			when c.layer = 'aio' and c.kind = 'post' and c.op like '%read%' then 'read'
		end as kind
	from calls as c
	join files as f on f.file = c.file
	where f.path = $path
)
select
	count(*) filter (kind = 'write') as writes,
	count(*) filter (kind = 'read') as reads,
	coalesce(max(bytes) filter (kind = 'write'), 0) as largest,
	coalesce(max(bytes) filter (kind = 'read'), 0) as largest_read,
	count(distinct process) filter (kind = 'write') as writers,
	array_to_string(list_sort(list(distinct file_offset) filter (kind = 'write')), ' ') as "offset",
	count(*) filter (layer = 'mpiio' and op like '%\_all%' escape '\') as collective,
	string_agg(distinct op, ' ' order by op) filter (layer in ('posix', 'aio')) as operations,
	count(*) filter (op in ('fcntl', 'flock', 'lockf')) as locks,
	count(distinct process) filter (kind = 'open') as opens,
	-- a server also keeps a line of where a file lies
	(select count(*) from (
		select process from calls where layer = 'disk' and kind = 'write' group by process having sum(bytes) >= 4096
	)) as servers,
	(select count(distinct path) from files where starts_with(path, $folder || '/')) as files
from accesses
