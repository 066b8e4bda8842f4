-- HDF5's files: what POSIX moved of raw data and of metadata, as HDF5's call of its file driver above it says (docs/tables.md). System
-- calls are summed by their parent first, so that the climb has a row per library call, not per system call. $known: there are such
-- calls; without, none is looked for.
with recursive moved as (
	select
		parent as lowest,
		file,
		count(*) filter (kind = 'read') as reads,
		count(*) filter (kind = 'write') as writes,
		coalesce(sum(bytes) filter (kind = 'read'), 0) as bytes_read,
		coalesce(sum(bytes) filter (kind = 'write'), 0) as bytes_written,
		sum(duration) as time
	from calls
	where $known and layer = 'posix' and kind in ('read', 'write') and parent is not null and file is not null
	group by parent, file
),
-- Calls that have others inside: few, where most calls are system calls.
enclosing as materialized (
	select id, parent, op from calls where $known and id in (select parent from calls where parent is not null)
),
climb as (
	select lowest, lowest as id from (select distinct lowest from moved)
	union all
	select climb.lowest, e.parent as id
	from climb join enclosing as e using (id)
	where e.parent is not null and e.op not like 'H5FD%'
),
driver as (
	select climb.lowest, case a.value when 3 then 'raw data' when -1 then 'not known' else 'metadata' end as memory
	from climb
	join enclosing as e on e.id = climb.id and e.op like 'H5FD%'
	join args as a on a.call = e.id and a.name = 'mem_type'
)
select
	coalesce(f.path, '') as path,
	memory,
	sum(reads) as reads,
	sum(writes) as writes,
	sum(bytes_read) as bytes_read,
	sum(bytes_written) as bytes_written,
	sum(time) as time
from moved join driver using (lowest) join files as f using (file)
group by f.file, path, memory
order by path, memory desc
