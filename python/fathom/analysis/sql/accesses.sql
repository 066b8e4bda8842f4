-- How files are accessed: sizes, order, functions, bytes.

-- How each file was accessed, layer by layer: Darshan's per-file view. Shares are of the accesses whose order, alignment or shape was counted.
create or replace macro access_patterns() as table
with accesses as (
	select c.* replace (direction(c.kind, c.op) as kind), if(is_beside(c.layer, c.op), 0, calls - errors) as accesses
	from counters as c left join files as f using (file)
	where c.file is not null and direction(c.kind, c.op) is not null and not is_no_io(layer) and is_file(f.kind, f.path, f.file_system)
		and (enclosing is null or not is_communication(enclosing_layer, enclosing))
),
common as (
	select file, layer, arg_max(value, (calls, -value)) as common_size, max(calls) as common_calls, arg_max(bound, (calls, -value)) as common_bound
	from (
		select file, layer, value, sum(calls) as calls, sum(bound) as bound
		from tops
		where what = 'size'
		group by file, layer, value
	)
	group by file, layer
),
each as (
	select
		file,
		layer,
		count(distinct process)::bigint as processes,
		coalesce(sum(accesses) filter (kind = 'read'), 0) as reads,
		coalesce(sum(accesses) filter (kind = 'write'), 0) as writes,
		coalesce(sum(bytes), 0) as bytes,
		sum(sequential) / nullif(sum(accesses) filter (sequential is not null), 0) as sequential,
		sum(consecutive) / nullif(sum(accesses) filter (consecutive is not null), 0) as consecutive,
		sum(strided) / nullif(sum(accesses) filter (strided is not null), 0) as strided,
		sum(unaligned_file) / nullif(sum(accesses) filter (unaligned_file is not null), 0) as unaligned_file,
		sum(unaligned_memory) / nullif(sum(accesses) filter (unaligned_memory is not null), 0) as unaligned_memory,
		sum(holes_file + holes_both) / nullif(sum(accesses) filter (holes_file is not null), 0) as holes_file,
		sum(switches) as switches
	from accesses
	group by file, layer
	having count(sequential) + count(switches) + count(size_histogram) > 0
)
select coalesce(f.path, '') as path, each.* exclude (file), common_size, common_calls::bigint as common_calls, common_bound::bigint as common_bound
from each left join common using (file, layer) left join files as f using (file)
order by bytes desc, path, layer;

-- In which shape each function moved the bytes of each file. Shares are of the accesses whose order or shape was counted; stride, extent
-- and datatype are those that it had most often.
create or replace macro access_shapes() as table
with accesses as (
	select c.*, if(is_beside(c.layer, c.op), 0, calls - errors) as accesses
	from counters as c left join files as f using (file)
	where c.file is not null and direction(c.kind, c.op) is not null and not is_no_io(layer) and is_file(f.kind, f.path, f.file_system)
		and (enclosing is null or not is_communication(enclosing_layer, enclosing))
),
each as (
	select
		file,
		layer,
		op,
		sum(accesses) as accesses,
		sum(sequential) / nullif(sum(accesses) filter (sequential is not null), 0) as sequential,
		sum(consecutive) / nullif(sum(accesses) filter (consecutive is not null), 0) as consecutive,
		sum(strided) / nullif(sum(accesses) filter (strided is not null), 0) as strided,
		sum(holes_memory + holes_both) / nullif(sum(contiguous + holes_memory + holes_file + holes_both), 0) as holes_memory,
		sum(holes_file + holes_both) / nullif(sum(contiguous + holes_memory + holes_file + holes_both), 0) as holes_file
	from accesses
	group by file, layer, op
	having sum(accesses) > 0 and count(sequential) + count(contiguous) > 0
),
top as (
	select file, layer, op, what, arg_max({value: value, label: label}, (calls, -value)) as most, max(calls) as calls
	from (
		-- A datatype's number is its process's own.
		select file, layer, op, what, if(what = 'datatype', null, value) as value, label, sum(calls) as calls
		from tops
		where what in ('stride', 'extent', 'datatype')
		group by all
	)
	group by file, layer, op, what
),
tops_of as (
	select
		file,
		layer,
		op,
		any_value(most.value) filter (what = 'stride') as stride,
		any_value(calls) filter (what = 'stride') as stride_calls,
		any_value(most.value) filter (what = 'extent') as extent,
		any_value(calls) filter (what = 'extent') as extent_calls,
		any_value(most.label) filter (what = 'datatype') as label,
		any_value(calls) filter (what = 'datatype') as datatype_calls
	from top
	group by file, layer, op
)
select
	coalesce(f.path, '') as path,
	each.* exclude (file),
	stride,
	stride_calls::bigint as stride_calls,
	extent,
	extent_calls::bigint as extent_calls,
	nullif(regexp_extract(label, '^(.*) of \d+ bytes', 1), '') as datatype,
	datatype_calls::bigint as datatype_calls,
	try_cast(regexp_extract(label, ' of (\d+) bytes', 1) as bigint) as datatype_bytes,
	-- Said only where one of them is not the size.
	coalesce(try_cast(regexp_extract(label, ', extent (\d+)', 1) as bigint), datatype_bytes) as datatype_extent,
	coalesce(try_cast(regexp_extract(label, ', true extent (\d+)', 1) as bigint), datatype_bytes) as datatype_true_extent
from each left join tops_of using (file, layer, op) left join files as f using (file)
order by accesses desc, path, layer, op;

-- Files that several ranks (processes where there are none) used, layer by layer: how their bytes and time lie on them. The rate is an
-- estimate, all bytes over the time of the slowest, as Darshan's agg_perf_by_slowest. Deviations are the roots of variances over all that
-- used the file.
create or replace macro shared_file_totals() as table
with used as (
	select file, c.layer, coalesce(p.rank, process) as unit, direction(c.kind, c.op) as kind, c.bytes, c.time
	from counters as c join processes as p using (process) left join files as f using (file)
	where c.file is not null and is_io(c.layer, c.kind) and is_file(f.kind, f.path, f.file_system)
		and (enclosing is null or enclosing_layer not in (c.layer, 'mpi') and not is_communication(enclosing_layer, enclosing))
),
each as (
	select
		file,
		layer,
		unit,
		coalesce(sum(bytes) filter (kind = 'read'), 0) as bytes_read,
		coalesce(sum(bytes) filter (kind = 'write'), 0) as bytes_written,
		sum(time) / 1e9 as seconds
	from used
	group by file, layer, unit
)
select
	coalesce(f.path, '') as path,
	layer,
	count(*) as processes,
	sum(bytes_read)::hugeint as bytes_read,
	sum(bytes_written)::hugeint as bytes_written,
	min(bytes_read + bytes_written)::hugeint as least_bytes,
	avg(bytes_read + bytes_written) as mean_bytes,
	max(bytes_read + bytes_written)::hugeint as most_bytes,
	stddev_pop(bytes_read + bytes_written) as deviation_bytes,
	min(seconds) as least_seconds,
	avg(seconds) as mean_seconds,
	max(seconds) as most_seconds,
	stddev_pop(seconds) as deviation_seconds,
	arg_min(unit, (seconds, unit))::bigint as fastest,
	arg_max(unit, (seconds, -unit))::bigint as slowest,
	sum(bytes_read + bytes_written) / nullif(max(seconds), 0) / 1e6 as mb_per_s
from each left join files as f using (file)
group by file, f.path, layer
having count(*) > 1 and sum(bytes_read + bytes_written) > 0
order by sum(bytes_read + bytes_written) desc, path, layer;

-- What the lowest layers read and wrote, by the function that made them do so: MPIProf's `<`. Of each group of files, when files are
-- known. `caller_time` is all of that function's own time on those files, communication included. MPI's start and end are none.
create or replace macro access_origins() as table
with lowest as (
	select c.process, p.rank, c.layer, c.kind, c.enclosing_layer, c.enclosing, c.file, file_group(f.path) as file_group, c.calls, c.bytes, c.time
	from counters as c join processes as p using (process) left join files as f using (file)
	where is_system(c.layer) and c.kind in ('read', 'write')
		and coalesce(c.enclosing_layer, '') not in ('posix', 'stdio', 'aio', 'mpi')
		and is_file(f.kind, f.path, f.file_system)
		and not is_communication(c.enclosing_layer, c.enclosing)
),
by_caller as (
	select
		layer,
		kind as operation,
		if(is_region(enclosing_layer), null, enclosing_layer) as caller_layer,
		if(is_region(enclosing_layer), null, enclosing) as caller,
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
	select c.layer as caller_layer, c.op as caller, file_group(f.path) as file_group, sum(c.time) as caller_time
	from counters as c left join files as f using (file)
	group by all
)
select by_caller.*, callers.caller_time
from by_caller left join callers
	on by_caller.caller_layer = callers.caller_layer and by_caller.caller = callers.caller
	and by_caller.file_group is not distinct from callers.file_group
order by by_caller.time desc, by_caller.bytes desc, by_caller.layer, by_caller.operation, by_caller.caller, by_caller.file_group;

-- The sizes that reads and writes of each layer have most often.
create or replace macro common_sizes() as table
select c.layer, direction(c.kind, c.op) as operation, value as size, sum(c.calls) as calls, sum(bound) as bound
from tops as c left join files as f using (file)
where what = 'size' and direction(c.kind, c.op) is not null and is_file(f.kind, f.path, f.file_system)
	and (enclosing is null or not is_communication(enclosing_layer, enclosing))
group by c.layer, operation, value
order by c.layer, operation, calls desc, size;

-- Reads and writes of each layer by size: from histograms in bins of powers of 4, or, of a log of Darshan, in its own ranges.
-- MPI's start and end are none.
create or replace macro size_ranges() as table
with accesses as (
	select layer, direction(c.kind, c.op) as kind, unnest(size_histogram) as calls, generate_subscripts(size_histogram, 1) - 1 as bin
	from counters as c left join files as f using (file)
	where direction(c.kind, c.op) is not null and size_histogram is not null and not is_no_io(layer) and is_file(f.kind, f.path, f.file_system)
		and (enclosing is null or not is_communication(enclosing_layer, enclosing))
),
ranges as (
	select [0, 101, 1025, 10241, 102401, 1048577, 4194305, 10485761, 104857601, 1073741825] as least
),
each as (
	select layer, kind, if(bin = 0, 0, pow(4, bin - 1))::bigint as size_from, if(bin = 16, null, pow(4, bin))::bigint as size_below, calls
	from accesses
	where layer not in (select layer from tops where what = 'size_range')
	union all
	select t.layer, t.kind, value, least[list_position(least, value) + 1], calls
	from tops as t left join files as f using (file), ranges
	where what = 'size_range' and t.layer <> 'mpi' and is_file(f.kind, f.path, f.file_system)
)
select layer, kind as operation, size_from, size_below, sum(calls) as calls
from each
group by layer, kind, size_from, size_below
having sum(calls) > 0
order by layer, operation, size_from;

-- Bytes that each process moved itself, by the lowest layers: not what its calls asked of others. Of a file that those did not move, by
-- MPI-IO (list requests to a forwarding server are no calls of POSIX); in a run that has neither, by its own calls. What MPI reads and
-- writes to start, to end and to communicate is no I/O of the program.
create or replace macro bytes_moved() as table
with data as (
	select
		process,
		file,
		c.kind,
		bytes,
		reaches_storage(layer, enclosing_layer) as low,
		layer = 'mpiio' and coalesce(enclosing_layer, '') <> 'mpiio' as middle,
		is_outermost(enclosing_layer, enclosing) as own
	from counters as c left join files as f using (file)
	where c.kind in ('read', 'write') and layer not in ('user', 'fathom')
		and is_file(f.kind, f.path, f.file_system)
		and (enclosing is null or enclosing_layer <> 'mpi' and not is_communication(enclosing_layer, enclosing))
),
moving as (
	select * from data where bytes > 0 and (low or middle)
),
below as (
	select file, kind, bool_or(low) as low, bool_or(middle) as middle from moving where file is not null group by file, kind
	union all
	-- Of ranks whose files are not known the bytes may be of any file.
	select null, kind, bool_or(low), bool_or(middle) from moving group by kind
),
chosen as (
	select data.*
	from data left join below on data.file is not distinct from below.file and data.kind = below.kind
	where case when below.low then data.low when below.middle then data.middle else own and not exists (from below) end
)
select
	process,
	any_value(p.rank) as rank,
	coalesce(sum(bytes) filter (kind = 'read'), 0) as bytes_read,
	coalesce(sum(bytes) filter (kind = 'write'), 0) as bytes_written
from processes as p left join chosen using (process)
group by process
order by process;

-- Bytes that each rank moved, or each process where there are no ranks: amounts of dominance().
create or replace macro moved_units(by_rank) as table
select if(by_rank, rank, process) as unit, bytes_read + bytes_written as amount from bytes_moved() where not by_rank or rank is not null;

-- Reads and writes that reached the file system, of these files.
create or replace macro raw_calls(file_numbers) as table
select
	coalesce(sum(calls) filter (kind = 'read'), 0) as reads,
	coalesce(sum(calls) filter (kind = 'write'), 0) as writes
from counters
where layer in ('posix', 'aio') and coalesce(enclosing_layer, '') not in ('posix', 'aio') and list_contains(file_numbers, file);

-- The program's own reads and writes of known bytes: those of POSIX and C streams, and MPI-IO's whose view has no holes. What ROMIO does
-- below MPI-IO is its own affair, and is not looked at in files that MPI-IO moved data of; files that have nothing else are left out first,
-- and where no file is left no such call is read.
create or replace macro byte_ranges() as table
with by_mpi as materialized (
	select distinct file from counters where layer = 'mpiio' and kind in ('read', 'write') and file is not null
),
by_itself as materialized (
	select distinct file
	from counters
	where layer in ('posix', 'stdio') and kind in ('read', 'write') and file is not null and (is_outermost(enclosing_layer,
		enclosing) or file not in (from by_mpi))
)
select id, process, file, layer, file_offset as begins, file_offset + bytes as ends, kind = 'write' as wrote, start, start + duration as stop
from calls
where exists (from by_itself)
	and kind in ('read', 'write') and bytes > 0 and error = 0 and state = 'done' and file_offset is not null and layer in ('posix', 'stdio')
	and file in (from by_itself) and (is_outermost_call(depth, parent) or file not in (from by_mpi))
union all
select id, process, file, layer, file_offset, file_offset + bytes, kind = 'write', start, start + duration
from calls
where kind in ('read', 'write') and bytes > 0 and error = 0 and state = 'done' and file_offset is not null and layer = 'mpiio'
	and (selection is null or selection not in (select selection from selections where not exact or blocks <> 1 or (period <> 0 and period <> total)))
	-- What a library moves when a definition ends it orders itself.
	and (own is null or own not in (select id from enddefs()));

-- Closes of files by POSIX and C streams, failed ones too.
create or replace macro closes() as
(
	select coalesce(sum(c.calls), 0)::bigint
	from counters as c left join files as f using (file)
	where c.kind = 'close' and c.layer in ('posix', 'stdio') and is_file(f.kind, f.path, f.file_system)
);

-- Most opens that began in any second, of files by POSIX and C streams. Calls in full are told one by one. Those in counters only: the first of a
-- key is known, and the last ended at its end; the others are taken to lie evenly between. `counted`: how many are known so.
create or replace macro opens_peak() as table
with opens as (
	select c.process, c.file, c.layer, c.op, c.calls, c.recorded, c.first_start, c.last_stop
	from counters as c left join files as f using (file)
	where c.kind = 'open' and c.layer in ('posix', 'stdio') and regexp_matches(c.op, '^(f?re)?f?open|creat|mks?o?s?temp|tmpfile|opendir')
		and is_file(f.kind, f.path, f.file_system)
),
keys as (
	select
		process, file, layer, op,
		sum(calls) as calls,
		sum(recorded) as recorded,
		min(first_start) as first,
		max(last_stop) as last
	from opens
	group by all
),
spread as (
	-- At most 1,000 moments of a key, each for as many.
	select
		first + (last - first)::hugeint * unnest(range(least(calls, 1000)::bigint)) // greatest(1, least(calls, 1000) - 1) as moment,
		calls / least(calls, 1000) as number
	from keys
	where recorded < calls
),
moments as (
	select moment, number from spread
	union all
	select c.start, 1 from calls as c join keys as k using (process, layer, op)
	where c.kind = 'open' and k.file is not distinct from c.file and k.recorded = k.calls
),
seconds as (
	select sum(number) over (order by moment range between 999999999 preceding and current row) as number
	from moments
)
select
	coalesce((select sum(calls) from keys), 0) as opens,
	coalesce((select max(number) from seconds), 0)::double as peak,
	coalesce((select sum(calls) from keys where recorded < calls), 0) as counted;

-- MPI-IO's reads and writes by number, and how many of them are collective: of ops that stand for several functions, as of a log
-- of Darshan, by those.
create or replace macro collective_share() as table
with each as (
	select op, calls from counters
	where layer = 'mpiio' and kind in ('read', 'write') and op not in (select op from tops where layer = 'mpiio' and what = 'function')
	union all
	select label, calls from tops where layer = 'mpiio' and what = 'function'
)
select sum(calls) as calls, coalesce(sum(calls) filter (op in (select op from ops where layer = 'mpiio' and collective)), 0) as collective
from each
where exists (select 1 from tops where layer = 'mpiio' and what = 'function');

-- ns of the program's own I/O calls by group of files (null: no file, or files are not known), kind of call and process.
create or replace macro time_by_group() as table
select file_group(f.path) as file_group, c.kind, c.process, p.rank, sum(c.time) as time
from own_counters() as c join processes as p using (process) left join files as f using (file)
group by all
order by time desc, file_group, c.kind, c.process;
