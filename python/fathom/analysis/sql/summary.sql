-- Sums over a run: layers, functions, files, ranks, communication, waits, settings. Times in ns unless a name says seconds.

-- Totals of each layer's I/O calls; regions of the program (layer user) are none, and those that only start, end or describe MPI
-- (kind comm) are none. A call inside another of the same layer is not added to `inclusive` again;
-- `exclusive` is what no recorded call below explains; `communication` is what the layer's library asked of MPI inside these calls.
create or replace macro layer_totals() as table
with own as (
	select
		layer,
		sum(calls) as calls,
		sum(recorded) as recorded,
		sum(errors) as errors,
		sum(bytes) filter (enclosing_layer is distinct from layer) as bytes,
		sum(time) filter (enclosing_layer is distinct from layer) as inclusive,
		sum(time) as every
	from counters as c
	where is_io(c.layer, c.kind)
	group by layer
),
below as (
	select enclosing_layer as layer, sum(time) as time, sum(time) filter (kind = 'comm') as communication
	from counters
	where enclosing_layer is not null
		and not is_communication(enclosing_layer, enclosing)
	group by enclosing_layer
)
select
	own.layer,
	own.calls::bigint as calls,
	own.recorded::bigint as recorded,
	own.errors::bigint as errors,
	coalesce(own.bytes, 0)::hugeint as bytes,
	coalesce(own.inclusive, 0)::hugeint as inclusive,
	greatest(0, own.every - coalesce(below.time, 0))::hugeint as exclusive,
	coalesce(below.communication, 0)::hugeint as communication
from own left join below using (layer)
order by inclusive desc, own.layer;

-- Each function, apart by what it was called from: the program (in one of its regions or not), a layer, or `mpi`: its start and end
-- (kind comm). POSIX from MPI-IO is another row than POSIX from the program.
create or replace macro function_totals() as table
select
	layer,
	op,
	kind,
	case
		when is_outermost(enclosing_layer, enclosing) then 'program'
		when is_communication(enclosing_layer, enclosing) then 'mpi'
		else enclosing_layer
	end as caller,
	sum(calls) as calls,
	sum(errors) as errors,
	sum(bytes) as bytes,
	sum(time) as time,
	min(shortest) as shortest,
	max(longest) as longest,
	count(distinct process) as processes
from counters
where not is_no_io(layer)
group by layer, op, kind, caller
order by time desc, layer, op, caller;

-- Which layer called which: time of I/O calls made directly inside another layer's, MPI's start and end left out.
create or replace macro layer_stack() as table
select enclosing_layer as caller, layer, sum(calls) as calls, sum(time) as time
from counters as c
where is_io(c.layer, c.kind) and layer <> 'mpi' and enclosing_layer is distinct from layer
	and enclosing_layer not in ('user', 'threads', 'mpi')
	and not is_communication(enclosing_layer, enclosing)
group by enclosing_layer, layer
order by time desc, caller, layer;

-- Each file. Bytes are those of the lowest layer that moved any, so that one transfer seen in three
-- layers counts once; time is that of outermost calls, regions of the program not counted among them. `server`: whose own it is, where
-- none but servers used it. What is no file (sockets and pipes of MPI libraries) comes last.
create or replace macro file_totals() as table
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
		sum(bytes) filter (kind = 'read' and layer = 'disk') as disk_read,
		sum(bytes) filter (kind = 'write' and layer = 'disk') as disk_written,
		sum(bytes) filter (kind = 'read') as any_read,
		sum(bytes) filter (kind = 'write') as any_written,
		sum(time) filter (is_outermost(enclosing_layer, enclosing)) as time,
		if(bool_and(s.server is not null), string_agg(distinct s.server, ' ' order by s.server), null) as server
	from counters left join server_processes() as s using (process)
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
	coalesce(nullif(posix_read, 0), nullif(mpiio_read, 0), nullif(disk_read, 0), any_read, 0)::hugeint as bytes_read,
	coalesce(nullif(posix_written, 0), nullif(mpiio_written, 0), nullif(disk_written, 0), any_written, 0)::hugeint
		as bytes_written,
	coalesce(time, 0)::hugeint as time,
	server
from sums left join files as f using (file)
order by is_file(f.kind, f.path, f.file_system) desc, time desc, path;

-- How many files were read only, written only, both or neither, and by one process or by several: Darshan's file count table.
create or replace macro file_counts() as table
select
	case
		when bytes_read > 0 and bytes_written > 0 then 'read and written'
		when bytes_read > 0 then 'read only'
		when bytes_written > 0 then 'written only'
		else 'no data'
	end as use,
	count(*)::bigint as files,
	count(*) filter (processes = 1)::bigint as by_one,
	count(*) filter (processes > 1)::bigint as shared,
	sum(bytes_read + bytes_written) as bytes,
	max(bytes_read + bytes_written) as most_bytes
from file_totals() as each join files as f using (file)
where coalesce(f.kind, 'unknown') in ('regular', 'unknown') and is_file(f.kind, f.path, f.file_system)
group by use
order by bytes desc, files desc, use;

-- Each file system that files were on: what was moved to and from its files, and the time of outermost calls on them. Of Lustre, `osts`: how
-- many OSTs they lie on, and `least_osts` and `most_osts` of one file; null: no layout is known.
create or replace macro mount_totals() as table
with stripe as (from file_stripes()),
width as (
	select file, count(*) as osts from stripe group by file
),
used as (
	select f.file_system, f.mount, count(distinct s.ost)::bigint as osts from stripe as s join files as f using (file) group by all
),
total as (
	select
		f.file_system,
		f.mount,
		count(*)::bigint as files,
		sum(bytes_read) as bytes_read,
		sum(bytes_written) as bytes_written,
		sum(each.time) as time,
		min(w.osts)::bigint as least_osts,
		max(w.osts)::bigint as most_osts
	from file_totals() as each join files as f using (file) left join width as w using (file)
	where coalesce(f.kind, 'unknown') in ('regular', 'unknown') and is_file(f.kind, f.path, f.file_system)
	group by f.file_system, f.mount
)
select t.file_system, t.mount, files, bytes_read, bytes_written, time, u.osts, least_osts, most_osts
from total as t left join used as u on u.file_system is not distinct from t.file_system and u.mount is not distinct from t.mount
order by time desc, t.file_system, t.mount;

-- The program's own I/O of each process, with its rank where MPI gave it one, and the most memory that it had resident. Times in ns.
create or replace macro rank_totals() as table
select
	process,
	any_value(p.rank) as rank,
	any_value(p.pid) as pid,
	any_value(p.parent) as parent,
	any_value(p.ended) as ended,
	any_value(n.host) as host,
	any_value(p.exe) as exe,
	any_value(p.command) as command,
	coalesce(sum(c.calls), 0) as calls,
	coalesce(sum(c.bytes), 0) as bytes,
	coalesce(sum(c.time), 0) as time,
	any_value(p.memory_peak) as memory
from processes as p
left join (
	from own_counters()
) as c using (process)
left join nodes as n using (node)
group by process
having sum(c.calls) > 0 or any_value(p.rank) is not null
order by rank nulls last, process;

-- Least, median and most over the ranks of calls, bytes, time and memory of rank_totals(), and who has the most; outside MPI over the
-- processes. Memory: of those of whom it is known.
create or replace macro rank_spread() as table
with each as materialized (
	select rank, process, unnest(['calls', 'bytes', 'time', 'memory']) as quantity, unnest([calls, bytes, time, memory]) as value
	from rank_totals()
	where rank is not null or not exists (select 1 from processes where rank is not null)
)
select quantity, min(value)::double as least, quantile_cont(value, 0.5) as median, max(value)::double as most,
	first(rank order by value desc, rank nulls last, process)::bigint as slowest,
	first(process order by value desc, rank nulls last, process)::bigint as slowest_process
from each
where value is not null
group by quantity
order by list_position(['calls', 'bytes', 'time', 'memory'], quantity);

-- Each function of MPI communication that the program called: over all ranks, and the rank that spent most in it.
create or replace macro communication_totals() as table
with each as (
	select c.op, p.rank, sum(c.calls) as calls, sum(c.errors) as errors, sum(c.bytes) as bytes, sum(c.time) as time, max(c.longest) as longest
	from counters as c join processes as p using (process)
	where c.layer = 'mpi' and c.enclosing_layer is distinct from 'mpiio'
	group by c.op, c.process, p.rank
)
select
	op,
	sum(calls) as calls,
	sum(errors) as errors,
	sum(bytes) as bytes,
	sum(time) as time,
	min(time)::hugeint as least,
	max(time)::hugeint as most,
	arg_max(rank, {time: time, first: -rank}) as slowest,
	max(longest) as longest
from each
group by op
order by time desc, op;

-- Each function of threads and locks: how often, and how long it kept its callers.
create or replace macro wait_totals() as table
select
	op,
	sum(calls) as calls,
	sum(errors) as errors,
	sum(time) as time,
	max(longest)::bigint as longest,
	count(distinct process)::bigint as processes
from counters
where layer = 'threads'
group by op
order by time desc, op;

-- Regions and marks of the program (fathom.h), by name; `own` is the I/O called in them directly, not in a region
-- inside them.
create or replace macro region_totals() as table
with own as (
	select enclosing as region, sum(time) as time
	from counters as c
	where enclosing_layer = 'user' and is_io(c.layer, c.kind)
	group by enclosing
)
select
	op as region,
	sum(calls) as calls,
	sum(c.time) as time,
	max(longest) as longest,
	coalesce(any_value(own.time), 0)::hugeint as own,
	count(distinct process) as processes
from counters as c left join own on own.region = c.op
where layer = 'user'
group by op
order by time desc, region;

-- What was asked for and what is in force of files, datasets and variables: hints, properties, layouts, and what a log of Darshan says
-- of them besides their calls. Of those that have the same value one is named. Settings of `fathom run --tuned` are in tuned_settings().
create or replace macro settings() as table
select
	h.key as setting,
	h.value,
	h.source,
	count(distinct h.process)::bigint as processes,
	count(distinct h.file)::bigint as files,
	min(case when o.class not in ('mpi_file', 'hdf5_file', 'pnetcdf_file', 'netcdf_file', 'descriptor', 'path') then o.name end) as thing,
	min(f.path) as path
from hints_in_force as h left join objects as o on o.object = h.object left join files as f on f.file = h.file
where h.key not like 'tuned %'
group by h.key, h.value, h.source
order by setting, processes desc, value, source;

-- What settings of the run (fathom run --tuned) came to: set, or left and why; of hints, what the library says is in force.
create or replace macro tuned_settings() as table
with tuned as (
	select file, object, substr(key, 7) as setting,
		split_part(value, '; left: ', 1) as value,
		nullif(split_part(value, '; left: ', 2), '') as reason
	from hints_in_force
	where source = 'asked' and key like 'tuned %'
),
in_force as (
	-- a file that is open may be given others
	select object, key, list(value) as had
	from hints_in_force
	where source = 'in force'
	group by object, key
),
asked as (
	select distinct object, key, value from hints_in_force where source = 'asked' and key not like 'tuned %'
)
select
	t.setting,
	t.value,
	case
		when t.reason is not null then 'left: ' || t.reason
		when a.key is null then 'set'
		when f.had is null then 'dropped by the library'
		when list_contains(f.had, t.value) then 'set; echoed by the library'
		else 'library has ' || f.had[-1]
	end as became,
	count(distinct t.file) as files,
	count(distinct t.object) as objects,
	any_value(o.name) as example
from tuned as t
left join objects as o on o.object = t.object
left join in_force as f on f.object = t.object and f.key = t.setting
left join asked as a on a.object = t.object and a.key = t.setting and a.value = t.value
group by all
order by t.setting, t.value, became;

-- What an agent read of the system: levels (memory) as they are, by time; counters as what they grew by per second. Of all processes of a
-- node together. CPU, memory, network and disk first, and what never was anything last.
create or replace macro sample_rates() as table
with steps as (
	select
		node, device, what, unit, value, time,
		what like 'memory.%' or what in ('threads', 'agent.memory') as is_level,
		process is not null as of_process,
		value - lag(value) over moment as grew,
		(value + lag(value) over moment) / 2 as between_them,
		time - lag(time) over moment as lasted
	from samples
	where what <> 'critical'
	window moment as (partition by node, process, what, device order by time)
),
each as (
	select
		node, what, device, of_process, unit, is_level,
		sum(if(is_level, between_them * lasted, grew * 1e9)) / nullif(sum(lasted) filter (grew is not null), 0) as mean,
		max(if(is_level, value, grew * 1e9 / nullif(lasted, 0))) as most
	from steps
	group by all
)
select n.host, what, device, if(of_process, 'process', 'node') as of, unit, is_level, mean, most
from each left join nodes as n using (node)
where mean is not null
order by most = 0, coalesce(list_position([
	'cpu.user', 'cpu.system', 'cpu.iowait', 'memory.peak', 'net.rx_bytes', 'net.tx_bytes', 'disk.read_bytes', 'disk.write_bytes',
	'disk.busy', 'pressure.io.some', 'storage.read_bytes', 'storage.write_bytes'
], what), 100), what, of, n.host, device;

-- Calls that were open when their process ended, whatever ended it; of a call that was left by longjmp, or whose thread ended, more than a tenth
-- of its own time went by until then. One row per call: id, process, rank, stream, depth, layer, op, file, object, collective, start, stop, killed.
create or replace macro calls_open_at_end() as table
select
	c.id, c.process, p.rank, c.stream, c.depth, c.layer, c.op, c.file, c.object, c.collective, c.site, c.start, c.start + c.duration as stop,
	p.ended = 'killed' as killed
from calls as c join processes as p using (process)
where c.state = 'unfinished' and c.layer <> 'fathom' and c.start + c.duration + c.duration // 10 >= p.stop;

-- Outermost calls that were open when their process was killed; of one that ended by itself, in its first thread, which then came out of a handler of
-- signals. One row per call of one file from one line: ranks, pids (of processes without a rank), op, layer, file, line, since, longest, calls.
create or replace macro unfinished_calls() as table
with outer_ as (
	select e.*, p.pid
	from calls_open_at_end() as e join processes as p using (process) join streams as t using (stream)
	where e.killed or t.tid = p.pid
	qualify row_number() over (partition by e.stream order by e.depth) = 1
)
select
	list(distinct rank order by rank) filter (rank is not null) as ranks,
	list(distinct pid order by pid) filter (rank is null) as pids,
	op,
	layer,
	coalesce(f.path, '') as path,
	coalesce(s.source, s.module, '') as source,
	s.line,
	min(start) as since,
	max(stop - start) as longest,
	count(*) as calls
from outer_ left join files as f using (file) left join sites as s using (site)
group by op, layer, f.path, s.source, s.module, s.line
order by longest desc, op, path;

-- What is not in the tables, and why: one row per kind.
create or replace macro mark_totals() as table
select kind, detail, count(distinct process) as processes, sum(value) as value, count(*) as marks
from marks
group by kind, detail
order by marks desc, kind, detail;

-- Fathom's own rows: seals, sends, growth of rings.
create or replace macro tracing_cost() as table
select
	coalesce(sum(calls), 0) as calls,
	coalesce(sum(time), 0) as time
from counters
where layer = 'fathom';

-- Of which ranks less is known than of others: some were not recorded; calls of some were recorded, those of others counted; files
-- are known of the data of some, and not of others' (level job).
create or replace macro ranks_in_part() as table
with each as (
	select
		p.rank,
		coalesce(bool_or(c.recorded > 0), false) as in_full,
		coalesce(bool_or(c.calls > 0), false) and not coalesce(bool_or(c.recorded > 0), false) as only_counted,
		coalesce(bool_or(c.kind in ('read', 'write') and c.file is not null), false) as with_files,
		coalesce(bool_or(c.kind in ('read', 'write') and c.file is null and c.recorded = 0), false) as without_files
	from processes as p left join counters as c on c.process = p.process and not is_no_io(c.layer)
	where p.rank >= 0
	group by p.rank
)
select
	any_value(missing) as ranks_missing,
	any_value(missing) or coalesce(bool_or(in_full) and bool_or(only_counted), false) as calls,
	any_value(missing) or coalesce(bool_or(with_files) and bool_or(without_files), false) as files,
	if(files, list(rank order by rank) filter (with_files), null) as ranks_with_files,
	if(files, list(rank order by rank) filter (not with_files and without_files), null) as ranks_without
from (select coalesce(ranks_seen < ranks, false) as missing from runs) left join each on true;

-- HDF5's files: what POSIX moved of raw data and of metadata, as HDF5's call of its file driver above it says (docs/tables.md). System
-- calls are summed by their parent first, so that the climb has a row per library call, not per system call. $known: there are such
-- calls; without, none is looked for.
create or replace macro hdf5_memory(known := true) as table
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
	where known and layer = 'posix' and kind in ('read', 'write') and parent is not null and file is not null
	group by parent, file
),
-- Calls that have others inside: few, where most calls are system calls.
enclosing as materialized (
	select id, parent, op from calls where known and id in (select parent from calls where parent is not null)
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
order by path, memory desc;

-- Each variable: a dataset, attribute or variable of a file, over all processes. What was asked of it by its own
-- library's calls, and what the system calls below those moved: a system call counts for every variable whose call encloses
-- it. Where the program's own call is all that may be on a variable, `own` says so of its system calls; the others climb from
-- call to call, summed by their parent first. $known: there are variables; without, no call is looked at.
create or replace macro variable_totals(known := true) as table
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
	select own from calls where known and own is not null and object in (select object from variable)
	union
	select own from calls where known and own is not null and id in (select base_call from streams where base_call is not null)
),
system_call as not materialized (
	select parent, own, kind, bytes from calls where known and layer = 'posix' and kind in ('read', 'write') and parent is not null
),
-- What was posted moved when a wait completed it.
completed as (
	select to_call as id, sum(bytes) as bytes from links where known and kind = 'completes' group by to_call
),
asked as (
	select
		variable, layer,
		any_value(shaped) as shaped,
		max(element_bytes) as element_bytes,
		count(distinct process) as processes,
		count(*) filter (way = 'read') as reads,
		count(*) filter (way = 'write') as writes,
		coalesce(sum(bytes) filter (way = 'read'), 0) as bytes_read,
		coalesce(sum(bytes) filter (way = 'write'), 0) as bytes_written,
		sum(duration) as time,
		count(*) filter (way is not null and collective is not null) as collective
	from (
		select c.* exclude (bytes), direction(c.kind, c.op) as way, if(c.kind = 'post', d.bytes, c.bytes) as bytes
		from calls as c left join completed as d using (id)
	) join variable using (object)
	where known
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
	where known and (own is null or own in (from deeper))
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
order by time desc, path, o.name;

-- Calls recorded in full, with the path of the file and the source line. Times in ns.
create or replace macro calls_with_places() as table
select
	calls.*,
	files.path,
	case when sites.line is not null then sites.source || ':' || sites.line end as source_line
from calls left join files using (file) left join sites using (site);

-- MPI and libraries of data that the processes used, each with its version.
create or replace macro versions_of_libraries() as table
select distinct unnest(string_split(libraries, ', ')) as name from processes order by name;

-- What Open MPI of the run's version calls its ROMIO: --mca io NAME. Of an unknown one it is that of version 4.
create or replace macro romio_component() as (
	select case when max(version) >= 5 then 'romio341' when max(version) < 4 then 'romio314' else 'romio321' end
	from (select try_cast(regexp_extract(libraries, 'Open MPI ([0-9]+)', 1) as integer) as version from processes)
);
