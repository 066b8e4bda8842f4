-- Each variable: a dataset, attribute or variable of a file, over all processes. What was asked of it by its own
-- library's calls, and what the system calls below those moved: a system call counts for every variable whose call encloses
-- it. Where the program's own call is all that may be on a variable, `own` says so of its system calls; the others climb from
-- call to call, summed by their parent first. $known: there are variables; without, no call is looked at.
with recursive of_variable as (
	select object, file, name, extents, element_bytes
	from objects
	where class in ('hdf5_dataset', 'hdf5_attribute', 'pnetcdf_variable', 'netcdf_variable')
),
named as (
	select file, name, min(object) as variable from of_variable group by file, name
),
-- Each process has an object of its own for it; `variable` is the first one's number.
variable as materialized (
	select o.object, n.variable, o.element_bytes, if(o.extents is null, null, o.object) as shaped
	from of_variable as o join named as n on n.name = o.name and n.file is not distinct from o.file
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
asked as (
	select
		variable, layer,
		any_value(shaped) as shaped,
		max(element_bytes) as element_bytes,
		count(distinct process) as processes,
		count(*) filter (kind = 'read') as reads,
		count(*) filter (kind = 'write') as writes,
		coalesce(sum(bytes) filter (kind = 'read'), 0) as bytes_read,
		coalesce(sum(bytes) filter (kind = 'write'), 0) as bytes_written,
		sum(duration) as time,
		count(*) filter (kind in ('read', 'write') and collective is not null) as collective
	from calls join variable using (object)
	where $known
	group by variable, layer
),
-- System calls in own calls on variables.
inside as (
	select
		v.variable, c.layer,
		count(*) as system_calls,
		coalesce(sum(s.bytes) filter (s.kind = 'read'), 0) as system_read,
		coalesce(sum(s.bytes) filter (s.kind = 'write'), 0) as system_written
	from system_call as s join calls as c on c.id = s.own join variable as v on v.object = c.object
	where s.own not in (from deeper)
	group by v.variable, c.layer
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
		variable, layer,
		sum(system_calls) as system_calls,
		sum(system_read) as system_read,
		sum(system_written) as system_written
	from (
		select distinct v.variable, e.layer, climb.lowest
		from climb join enclosing as e using (id) join variable as v using (object)
	) join moved using (lowest)
	group by variable, layer
),
system as (
	select
		variable, layer,
		sum(system_calls) as system_calls,
		sum(system_read) as system_read,
		sum(system_written) as system_written
	from (from inside union all from below)
	group by variable, layer
)
select
	asked.layer,
	coalesce(f.path, '') as path,
	o.name as variable,
	shape.extents,
	asked.element_bytes,
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
from asked left join system using (variable, layer)
	join objects as o on o.object = asked.variable
	left join objects as shape on shape.object = asked.shaped
	left join files as f on f.file = o.file
order by time desc, path, o.name
