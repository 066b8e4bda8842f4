-- Each variable: a dataset, attribute or variable of a file, over all processes. What was asked of it by its own
-- library's calls, and what the system calls below those moved: a system call counts for every variable whose call encloses
-- it. System calls are summed by their parent first, so that the climb has a row per library call, not per system call. $known:
-- there are variables; without, no call is looked at.
with recursive variable as (
	select object, file, name, class, extents, element_bytes, process
	from objects
	where class in ('hdf5_dataset', 'hdf5_attribute', 'pnetcdf_variable', 'netcdf_variable')
),
asked as (
	select
		v.file, v.name, c.layer,
		any_value(v.extents) as extents,
		max(v.element_bytes) as element_bytes,
		count(distinct c.process) as processes,
		count(*) filter (c.kind = 'read') as reads,
		count(*) filter (c.kind = 'write') as writes,
		coalesce(sum(c.bytes) filter (c.kind = 'read'), 0)::bigint as bytes_read,
		coalesce(sum(c.bytes) filter (c.kind = 'write'), 0)::bigint as bytes_written,
		sum(c.duration)::bigint as time,
		count(*) filter (c.kind in ('read', 'write') and c.collective is not null) as collective
	from calls as c join variable as v using (object)
	where $known
	group by v.file, v.name, c.layer
),
moved as (
	select
		parent as lowest,
		count(*) as system_calls,
		coalesce(sum(bytes) filter (kind = 'read'), 0) as system_read,
		coalesce(sum(bytes) filter (kind = 'write'), 0) as system_written
	from calls
	where $known and layer = 'posix' and kind in ('read', 'write') and parent is not null
	group by parent
),
-- Calls that have others inside: few, where most calls are system calls.
enclosing as materialized (
	select id, parent, layer, object from calls where $known and id in (select parent from calls where parent is not null)
),
climb as (
	select lowest, lowest as id from moved
	union all
	select climb.lowest, e.parent as id
	from climb join enclosing as e using (id)
	where e.parent is not null
),
below as (
	select
		file, name, layer,
		sum(system_calls)::bigint as system_calls,
		sum(system_read)::bigint as system_read,
		sum(system_written)::bigint as system_written
	from (
		select distinct v.file, v.name, e.layer, climb.lowest
		from climb join enclosing as e using (id) join variable as v using (object)
	) join moved using (lowest)
	group by file, name, layer
)
select
	asked.layer,
	coalesce(f.path, '') as path,
	asked.name as variable,
	extents,
	element_bytes,
	processes,
	reads,
	writes,
	bytes_read,
	bytes_written,
	time,
	collective,
	coalesce(system_calls, 0) as system_calls,
	coalesce(system_read, 0) as system_read,
	coalesce(system_written, 0) as system_written
from asked
left join below
	on asked.file is not distinct from below.file and asked.name = below.name and asked.layer = below.layer
left join files as f on f.file = asked.file
order by time desc, path, variable
