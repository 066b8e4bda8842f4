-- Where in a file calls read and wrote, and what files lie in a folder. `selected`: a condition on rows of `calls` or `counters`.
-- Times in ns, sizes and offsets in bytes.

-- The selected accesses of a file: `x`, kind, bytes [a, z), and the first and last bin that each touches. at_x: an expression; bins have
-- `step` bytes and begin at `low`.
create or replace macro access_rows(of_file, at_x, selected, which, low, step) as table
with access as (
	select at_x as x, kind, file_offset as a, file_offset + bytes as z
	from (select * from calls as c where file = of_file and selected) as c join lanes() as lane using (process)
	where which and file_offset is not null and bytes > 0
)
select x, kind, a, z, (a - low) // step as first, (z - 1 - low) // step as last from access;

-- Where in a file the selected reads and writes went. A call's bytes are spread over the bins that it touches; it counts in that in which it
-- begins.
create or replace macro access_cells(of_file, at_x, selected, which, low, step) as table
with placed as (from access_rows(of_file, at_x, selected, which, low, step)),
-- What begins and ends inside a bin, and, as steps up and down, the bins that are touched from end to end.
pieces as (
	select x, kind, first as y, count(*) as calls, sum(least(z, low + (first + 1) * step) - a) as bytes, 0 as up from placed group by all
	union all
	select x, kind, last, 0, sum(z - (low + last * step)), 0 from placed where last > first group by all
	union all
	select x, kind, first + 1, 0, 0, count(*) from placed where last > first group by all
	union all
	select x, kind, last, 0, 0, -count(*) from placed where last > first group by all
),
level as (
	select x, kind, y, sum(calls) as calls, sum(bytes) as bytes, sum(sum(up)) over (partition by x, kind order by y) as height,
		lead(y) over (partition by x, kind order by y) as next
	from pieces
	group by x, kind, y
)
select x::integer as x, y::integer as y, kind, sum(calls) as calls, sum(bytes) as bytes
from (
	select x, y, kind, calls, bytes + height * step as bytes from level
	union all
	select x, unnest(range(y + 1, next)) as y, kind, 0, height * step from level where height > 0 and next > y + 1
)
where bytes > 0 or calls > 0
group by x, y, kind
order by x, y, kind;

-- Where in a file the selected reads and writes went: how many of each column began in which row and ended in which, and their bytes in
-- these two; access_cells() says what a cell is.
create or replace macro access_placed(of_file, at_x, selected, which, low, step) as table
with placed as (from access_rows(of_file, at_x, selected, which, low, step))
select
	x, kind::varchar as kind, first, last, count(*) as calls,
	sum(least(z, low + (first + 1) * step) - a) as head,
	sum(if(last > first, z - (low + last * step), 0)) as tail
from placed
group by all;

-- The file of the longest selected call on one.
create or replace macro access_longest(selected) as table
select file from calls as c where file is not null and selected and is_io(c.layer, c.kind) order by duration desc, id limit 1;

-- Accesses of a file by bytes asked for, from counters: bins of powers of 4.
create or replace macro access_sizes(of_file, selected) as table
select
	layer, kind, if(bin = 0, 0, pow(4, bin - 1))::bigint as "from", if(bin = 16, null, pow(4, bin))::bigint as below, sum(calls) as calls
from (
	select layer, kind, unnest(size_histogram) as calls, generate_subscripts(size_histogram, 1) - 1 as bin
	from counters as c
	where file = of_file and selected and kind in ('read', 'write') and size_histogram is not null
)
where calls > 0
group by all
order by layer, kind, "from";

-- From where to where the selected calls of each layer accessed a file, and how many calls' places are not known.
-- Bytes are summed so that what no program can have moved is said to be damage.
create or replace macro access_span(of_file, selected) as table
select
	layer, min(file_offset) as low, max(file_offset + bytes) as high, count(*) as calls, sum(bytes) as bytes, count(*) filter (file_offset is null) as unknown
from calls as c
where file = of_file and selected and kind in ('read', 'write') and bytes > 0 and layer in ('posix', 'aio', 'stdio', 'mpiio')
group by layer;

-- The stripe of a file, as MPI-IO's hints in force say it.
create or replace macro access_stripe(of_file) as table
select max(try_cast(value as bigint)) as stripe from hints_in_force where file = of_file and key = 'striping_unit' and source = 'in force';

-- What was asked of a file by reads that no other call of these layers holds: the program's, or those of a library of arrays.
create or replace macro coverage_asked(of_file, selected) as table
select layer, selection, file_offset, coalesce(bytes, size) as bytes
from (select * from calls as c where file = of_file and selected) as c
	left join (select id from calls where file = of_file and layer in ('posix', 'aio', 'stdio', 'mpiio')) as p on p.id = c.parent
where p.id is null and layer in ('posix', 'aio', 'stdio', 'mpiio') and error = 0 and coalesce(bytes, size) > 0
	and (kind = 'read' or kind = 'post' and layer <> 'aio' and contains(op, 'read'));

-- Bytes [a, z) of a file that calls of the lowest layer read and wrote, and how often.
create or replace macro coverage_ranges(of_file, selected, which) as table
select kind, file_offset as a, file_offset + bytes as z, count(*) as calls
from calls as c
where file = of_file and selected and which and kind in ('read', 'write') and file_offset is not null and bytes > 0
group by all
order by kind, a, z;

-- Selected I/O calls on files, from counters.
create or replace macro file_calls_of_counters(selected) as table
select process, file, layer, op, kind, calls, bytes, time, longest, is_outermost(enclosing_layer, enclosing) as outermost
from counters as c
where file is not null and selected and is_io(c.layer, c.kind);

-- Selected I/O calls on files, summed as counters sum them: what is asked of them looks at few rows then.
create or replace macro file_calls_of_calls(selected) as table
select
	process, file, layer, op, kind, is_outermost_call(depth, parent) as outermost, count(*) as calls, sum(coalesce(bytes, 0)) as bytes, sum(duration) as time,
	max(duration) as longest
from calls as c
where file is not null and selected and is_io(c.layer, c.kind)
group by all;

-- By process or by file (by_what): bytes are those of the lowest layer that moved any, so that one transfer seen in three layers counts
-- once; time is that of outermost calls, which hold the others. rows_of: name of rows of file_calls_of_*().
create or replace macro file_sums(rows_of, by_what) as table
select
	by_what as what,
	count(distinct process) as lanes,
	sum(calls) as calls,
	coalesce(nullif(sum(bytes) filter (kind = 'read' and layer in ('posix', 'aio')), 0), nullif(sum(bytes) filter (kind = 'read'
		and layer = 'mpiio'), 0), sum(bytes) filter (kind = 'read'), 0) as bytes_read,
	coalesce(nullif(sum(bytes) filter (kind = 'write' and layer in ('posix', 'aio')), 0), nullif(sum(bytes) filter (kind = 'write'
		and layer = 'mpiio'), 0), sum(bytes) filter (kind = 'write'), 0) as bytes_written,
	sum(time) filter (outermost) as time
from query_table(rows_of)
group by by_what;

-- What lies in the folder `under`: files, and folders with all that lies in them, those with the most time first.
create or replace macro file_tree(rows_of, under) as table
with placed as (
	select s.* exclude (what), f.file, f.path, substr(f.path, length(under) + 1) as rest
	from file_sums(rows_of, file) as s join files as f on f.file = s.what
	where starts_with(f.path, under) and is_file(f.kind, f.path, f.file_system)
)
select
	if(contains(rest, '/'), null, file) as file,
	under || if(contains(rest, '/'), split_part(rest, '/', 1) || '/', rest) as path,
	count(*) as files,
	max(lanes)::bigint as "most lanes",
	sum(calls) as calls,
	sum(bytes_read) as "bytes read",
	sum(bytes_written) as "bytes written",
	coalesce(sum(time), 0) as time
from placed
group by all
order by time desc, path, file;

-- The same of each lane, whichever the files.
create or replace macro file_ranks(rows_of) as table
select
	lane, case when rank is null then 'pid ' || pid else 'rank ' || rank end as label, calls::bigint as calls, bytes_read::hugeint as "bytes read",
	bytes_written::hugeint as "bytes written", coalesce(time, 0)::hugeint as time
from file_sums(rows_of, process) as s join lanes() as l on l.process = s.what
order by time desc, lane;

-- The same of each op; one transfer is seen in each layer that it passed.
create or replace macro file_ops(rows_of) as table
select
	layer, op, kind, count(distinct process) as lanes, sum(calls) as calls, sum(bytes) as bytes, sum(time) as time,
	max(longest)::bigint as longest
from query_table(rows_of)
group by layer, op, kind
order by time desc, layer, op;

-- The longest of the selected calls on files, so many.
create or replace macro file_each(selected, is_long, most) as table
with lane as (from lanes())
select
	c.id as call, lane.lane, c.layer, c.op, c.file, c.start, c.duration, c.file_offset, c.size, c.bytes, c.error
from (
	select * from calls as c
	where file is not null and selected and is_long and is_io(c.layer, c.kind)
	order by duration desc, id
	limit most
) as c join lane using (process)
order by c.duration desc, c.id;

-- The first and the last path: what they have in common, all have.
create or replace macro file_ends() as table
select min(path) as first, max(path) as last from files as f where path like '/%' and is_file(f.kind, f.path, f.file_system);

-- Calls of the processes that did the program's I/O, thread by thread merged in the order of time; those around a call come before it.
-- Times in ns.
create or replace macro replay_calls(of_processes, of_layers) as table
select c.id, c.process, c.stream, c.parent, c.layer, c.op, c.kind, c.object, c.start, c.start + c.duration as stop, c.size, c.file_offset, c.bytes,
	c.result, c.error, c.state, c.selection::bigint as selection
from calls as c
where c.process in (select unnest(of_processes)) and c.layer in (select unnest(of_layers))
order by c.process, c.start, c.depth;

-- By call of MPI-IO: when and where the first system call below it moved data of its file.
-- Columns: call, start (ns), file_offset (bytes).
create or replace macro replay_below(of_calls, of_kinds) as table
with recursive below as (
	select c.id as call, c.id as inner_call, c.file
	from calls as c
	where c.id in (select unnest(of_calls))
	union all
	select b.call, c.id as inner_call, b.file
	from below as b
	join calls as c on c.parent = b.inner_call
)
select b.call, min(c.start) as start, arg_min(c.file_offset, c.start) as file_offset
from below as b
join calls as c on c.id = b.inner_call
where c.layer in ('posix', 'aio') and c.file = b.file and c.kind in (select unnest(of_kinds))
group by b.call;

-- Data that moved to and from these files below the libraries, by function.
-- Columns: layer, op, path, calls, bytes.
create or replace macro replay_moved(of_paths, of_layers, of_kinds, without_calls) as table
select c.layer, c.op, f.path, count(*) as calls, sum(coalesce(c.bytes, c.size, 0))::bigint as bytes
from calls as c
join files as f on f.file = c.file
where
	f.path in (select unnest(of_paths)) and c.layer in (select unnest(of_layers))
	and c.kind in (select unnest(of_kinds)) and c.id not in (select unnest(without_calls))
group by c.layer, c.op, f.path;

-- What a recorded run of a small program shows of one file: the figures that knobs are proved by. What OMPIO writes is posted.
create or replace macro knob_effects(of_path, of_folder) as table
with accesses as (
	select c.op, c.layer, c.process, c.file_offset, coalesce(c.bytes, c.size) as bytes,
		case
			when c.layer = 'posix' then c.kind
			when c.layer = 'aio' and c.kind = 'post' and c.op like '%write%' then 'write'
			when c.layer = 'aio' and c.kind = 'post' and c.op like '%read%' then 'read'
		end as kind
	from calls as c
	join files as f on f.file = c.file
	where f.path = of_path
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
	(select count(distinct path) from files where starts_with(path, of_folder || '/')) as files
from accesses;
