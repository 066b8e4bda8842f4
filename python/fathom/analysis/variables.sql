-- Each variable: a dataset, attribute or variable of a file, over all processes. What was asked of it by its own
-- library's calls, and what the system calls below those moved: a system call counts for every variable whose call encloses
-- it. Where the program's own call is all that may be on a variable, `own` says so of its system calls; the others climb from
-- call to call, summed by their parent first. $known: there are variables; without, no call is looked at.
with recursive variable as (
	select object, file, name, extents, element_bytes
	from objects
	where class in ('hdf5_dataset', 'hdf5_attribute', 'pnetcdf_variable', 'netcdf_variable')
),
-- Own calls inside which another is on a variable, or which a signal handler interrupted.
deeper as materialized (
	select own from calls where $known and own is not null and object in (select object from variable)
	union
	select own from calls where $known and own is not null and id in (select base_call from streams where base_call is not null)
),
system_call as not materialized (
	select parent, own, kind, bytes from calls where $known and layer = 'posix' and kind in ('read', 'write') and parent is not null
),
inside as (
	select
		own as id,
		count(*) as system_calls,
		coalesce(sum(bytes) filter (kind = 'read'), 0) as system_read,
		coalesce(sum(bytes) filter (kind = 'write'), 0) as system_written
	from system_call
	where own is not null and own not in (from deeper)
	group by own
),
of_object as (
	select
		object, layer, process,
		count(*) filter (kind = 'read') as reads,
		count(*) filter (kind = 'write') as writes,
		sum(bytes) filter (kind = 'read') as bytes_read,
		sum(bytes) filter (kind = 'write') as bytes_written,
		sum(duration) as time,
		count(*) filter (kind in ('read', 'write') and collective is not null) as collective,
		sum(system_calls) as system_calls,
		sum(system_read) as system_read,
		sum(system_written) as system_written
	from calls left join inside using (id)
	where $known and object in (select object from variable)
	group by object, layer, process
),
asked as (
	select
		file, name, layer,
		any_value(extents) as extents,
		max(element_bytes) as element_bytes,
		count(distinct process) as processes,
		sum(reads)::bigint as reads,
		sum(writes)::bigint as writes,
		coalesce(sum(bytes_read), 0)::bigint as bytes_read,
		coalesce(sum(bytes_written), 0)::bigint as bytes_written,
		sum(time)::bigint as time,
		sum(collective)::bigint as collective,
		coalesce(sum(system_calls), 0) as system_calls,
		coalesce(sum(system_read), 0) as system_read,
		coalesce(sum(system_written), 0) as system_written
	from of_object join variable using (object)
	group by file, name, layer
),
moved as (
	select
		parent as lowest,
		count(*) as system_calls,
		coalesce(sum(bytes) filter (kind = 'read'), 0) as system_read,
		coalesce(sum(bytes) filter (kind = 'write'), 0) as system_written
	from system_call
	where own is null or own in (from deeper)
	group by parent
),
enclosing as materialized (
	select id, parent, layer, object
	from calls
	where $known and (own is null or own in (from deeper))
		and id in (select parent from calls where parent is not null and (own is null or own in (from deeper)))
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
		sum(system_calls) as system_calls,
		sum(system_read) as system_read,
		sum(system_written) as system_written
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
	(asked.system_calls + coalesce(below.system_calls, 0))::bigint as system_calls,
	(asked.system_read + coalesce(below.system_read, 0))::bigint as system_read,
	(asked.system_written + coalesce(below.system_written, 0))::bigint as system_written
from asked
left join below
	on asked.file is not distinct from below.file and asked.name = below.name and asked.layer = below.layer
left join files as f on f.file = asked.file
order by time desc, path, variable
