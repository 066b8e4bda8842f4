-- What the lowest layers read and wrote, by the function that made them do so: MPIProf's `<`. Of each group of files, when files are
-- known. `caller_time` is all of that function's own time on those files, communication included. MPI's start and end are none.
with lowest as (
	select c.process, p.rank, c.layer, c.kind, c.enclosing_layer, c.enclosing, c.file, {file_group} as file_group, c.calls, c.bytes, c.time
	from counters as c join processes as p using (process) left join files as f using (file)
	where c.layer in ('posix', 'stdio', 'aio') and c.kind in ('read', 'write')
		and coalesce(c.enclosing_layer, '') not in ('posix', 'stdio', 'aio', 'mpi')
		and {of_files}
		and (c.enclosing_layer, c.enclosing) not in (select (layer, op) from ops where kind = 'comm')
),
by_caller as (
	select
		layer,
		kind as operation,
		if(enclosing_layer in ('user', 'threads'), null, enclosing_layer) as caller_layer,
		if(enclosing_layer in ('user', 'threads'), null, enclosing) as caller,
		file_group,
		list(distinct coalesce(rank, process) order by coalesce(rank, process)) as ranks,
		nullif(count(distinct file), 0)::bigint as files,
		sum(calls) as calls,
		sum(bytes) as bytes,
		sum(time) as time
	from lowest
	group by all
),
callers as (
	select c.layer as caller_layer, c.op as caller, {file_group} as file_group, sum(c.time) as caller_time
	from counters as c left join files as f using (file)
	group by all
)
select by_caller.*, callers.caller_time
from by_caller left join callers
	on by_caller.caller_layer = callers.caller_layer and by_caller.caller = callers.caller
	and by_caller.file_group is not distinct from callers.file_group
order by by_caller.time desc, by_caller.bytes desc, by_caller.layer, by_caller.operation, by_caller.caller, by_caller.file_group
