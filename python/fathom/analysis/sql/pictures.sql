-- What the pictures of `fathom view` show of selected calls. `selected` is a condition on rows of `calls` (or of `counters`), as
-- analysis/conditions.py writes it. Times in ns, sizes and offsets in bytes.

-- I/O of each process: its outermost calls, from counters.
create or replace macro lane_sums() as table
select process, sum(time) as "io time", sum(bytes) as bytes, sum(calls) as calls
from counters as c
where is_outermost(enclosing_layer, enclosing) and is_io(c.layer, c.kind)
group by process;

-- I/O of each process: its selected calls, from those recorded in full. is_chosen: which of them count.
create or replace macro lane_sums_of_calls(selected, is_chosen) as table
select process, sum(duration) as "io time", sum(bytes) as bytes, count(*) as calls
from calls as c
where selected and is_chosen and is_io(c.layer, c.kind)
group by process;

-- The rows of the pictures, with the I/O of their processes. shown: a condition on `lane`; sums_of: name of rows of lane_sums().
create or replace macro lane_rows(shown, sums_of) as table
with lane as (from lanes()),
sums as (from query_table(sums_of)),
thread as (
	select process, count(distinct tid) as threads from streams group by process
)
select
	lane,
	case when rank is null then 'pid ' || pid else 'rank ' || rank end as label,
	rank,
	process,
	host as node,
	coalesce(threads, 0) as threads,
	coalesce("io time", 0)::hugeint as "io time",
	coalesce(bytes, 0)::hugeint as bytes,
	coalesce(calls, 0)::bigint as calls
from lane
left join nodes using (node)
left join sums using (process)
left join thread using (process)
where shown
order by lane;

-- Each selected call of each lane.
create or replace macro strip_spans(which, most := null) as table
with lane as (from lanes())
select lane, depth, id as call, layer, op, c.kind, c.start, duration, bytes, path
from (select * from calls where which limit most) as c join lane using (process) left join files using (file)
order by lane, depth, c.start, call;

-- Of each lane, layer and bin, so many from the first ns to the last: for how long its calls ran there, summed, which op took most, the
-- longest that touches it.
create or replace macro strip_bins(which, first_ns, last_ns, bins) as table
with lane as (from lanes()),
placed as (
	select lane, layer, op, kind, id, duration, greatest(c.start, first_ns) - first_ns as begin, least(c.start + duration, last_ns) - first_ns as finish
	from (from calls where which) as c join lane using (process)
	where c.start < last_ns
),
piece as (
	select *, unnest(range(
		(begin * bins::hugeint // (last_ns - first_ns))::bigint,
		(greatest(begin, finish - 1) * bins::hugeint // (last_ns - first_ns) + 1)::bigint
	)) as bin
	from placed
),
each as (
	select lane, layer, bin, op, kind, max(duration) as longest, arg_max(id, duration) as call,
		sum(greatest(0, least(finish, ((bin + 1)::hugeint * (last_ns - first_ns) + bins - 1) // bins) - greatest(begin,
			(bin::hugeint * (last_ns - first_ns) + bins - 1) // bins))) as busy
	from piece
	group by lane, layer, bin, op, kind
)
select
	lane, layer, bin, arg_max(op, (busy, op)) as op, sum(busy) as busy, arg_max(call, longest) as call, max(longest) as longest,
	arg_max(kind, (busy, op)) as kind
from each
group by lane, layer, bin
order by lane, layer, bin;

-- The longest calls of each layer, so many. Of most layers `at_least` says from which duration on one can be among them.
create or replace macro outliers(most, at_least) as table
with lane as (from lanes()),
longest as (
	select unnest(arg_max(id, duration, most)) as id from calls where duration >= at_least group by layer
)
select id as call, lane, c.start, duration, layer, op
from calls as c join lane using (process)
where id in (select id from longest)
order by duration desc, id;

-- Of layers how long their longest calls, so many, are at least: so many counters, all of whose calls are recorded one by one, hold one that is.
create or replace macro least_of_layers(most) as table
select layer, longest as least
from counters
where recorded = calls
qualify row_number() over (partition by layer order by longest desc) = most;

-- How long the longest of the selected calls, so many, are at least: so many counters, all of whose calls are recorded one by one, hold one that
-- is. No row where there are fewer.
create or replace macro least_of_longest(selected, which, most) as table
select least
from (
	select min(longest) as least, count(*) as counters
	from (select longest from counters as c where selected and is_io(c.layer, c.kind) and which and recorded = calls order by longest desc limit most)
)
where counters = most;

-- The I/O calls for which `size` is the most, so many, of those for which two conditions hold.
create or replace macro longest_calls(which, is_long, size, most) as table
select * from calls as c
where which and is_long and is_io(c.layer, c.kind)
order by size desc, id
limit most;

-- The longest of the selected calls that no other I/O call holds, so many.
create or replace macro outermost_longest(selected, is_long, most) as table
select id, stream, start, duration
from (select * from calls as c where selected and is_long and is_io(c.layer, c.kind))
where is_outermost_call(depth, parent)
order by duration desc, id
limit most;

-- Calls as lists of them show: with their lane, file and server. rows_of: name of rows of `calls`.
create or replace macro brief_calls(rows_of) as table
with lane as (from lanes()),
server_process as (from server_processes()),
server_file as (from server_files())

select c.id as call, parent, lane, c.rank, c.process, c.depth, c.layer, c.op, c.kind, c.start, c.duration, c.nested, c.duration - c.nested as exclusive,
	c.bytes, c.file, f.path, coalesce(sf.server, sp.server) as server
from query_table(rows_of) as c
left join lane on lane.process = c.process
left join files as f on f.file = c.file
left join server_file as sf on sf.file = c.file
left join server_process as sp on sp.process = c.process;

-- How many of the selected I/O calls were made, and how many are rows of `calls`.
create or replace macro captured_calls(selected) as table
select coalesce(sum(calls), 0) as calls, coalesce(sum(recorded), 0) as events
from counters as c
where selected and is_io(c.layer, c.kind);

-- Whom agents found critical when: a row for each process and server of each phase, with its lane.
create or replace macro critical_lanes() as table
with lane as (from lanes()),
phases as (from critical_phases())
select
	lane.lane, phases.phase, (phases.start_seconds * 1e9)::bigint as start, ((phases.start_seconds + phases.seconds) * 1e9)::bigint as stop,
	case when lane.process = phases.process then phases.share end as share, phases.why
from phases join lane on lane.process in (phases.process, phases.server_process)
order by phases.phase, lane.lane;

-- Exclusive time by layer of each call for which a condition holds and of all inside it. rows_of: name of rows of `calls`; near_them: a
-- condition that holds for all of these.
create or replace macro exclusive_inside(rows_of, near_them, which) as table
with recursive near as materialized (
	select id, parent, layer, duration - nested as exclusive, which as is_asked
	from query_table(rows_of)
	where near_them
),
tree as (
	select id as of_call, id, layer, exclusive from near where is_asked
	union all
	select tree.of_call, near.id, near.layer, near.exclusive from tree join near on near.parent = tree.id
)
select of_call as call, layer, sum(exclusive) as exclusive from tree group by of_call, layer;

-- Of each call for which a condition holds, calls like it beside it: how many, the usual one, the next slower one, those before and after
-- it, the slowest. Of one function in one call, of outermost ones in one thread. rows_of: name of rows of `calls`.
create or replace macro siblings(rows_of, which) as table
with family as (
	select *, row_number() over () as family from (select distinct stream, parent, layer, op from query_table(rows_of) where which)
),
sibling as materialized (
	select family, id, start, duration, which as is_asked
	from query_table(rows_of) as s
	join family as f on s.stream = f.stream and s.parent is not distinct from f.parent and s.layer = f.layer and s.op = f.op
),
beside as (
	select family, id, duration, is_asked, lead(id) over in_time as next, lag(id) over in_time as previous
	from sibling
	window in_time as (partition by family order by start, id)
),
whole as (
	select family, count(*) as count, quantile_disc(duration, 0.5) as middle, arg_max(id, duration) as slowest from sibling group by family
),
usual as (
	select family, arg_min(id, (abs(duration - middle), start)) as median from sibling join whole using (family) group by family
),
longer as (
	select family, duration, lead(first) over (partition by family order by duration) as slower
	from (select family, duration, arg_min(id, start) as first from sibling group by family, duration)
)
select id, count, median, slower, next, previous, slowest
from beside join whole using (family) join usual using (family) join longer using (family, duration)
where is_asked;

-- Links of calls, of each so many at most: with the call at their other end, and whether they lead `to` it. is_from, is_to: conditions on
-- `from_call` and `to_call`.
create or replace macro links_of(is_from, is_to, most) as table
select *
from (
	select from_call as call, to_call as other, kind, 'to' as direction, bytes, confidence from links where is_from
	union all
	select to_call, from_call, kind, 'from', bytes, confidence from links where is_to and from_call <> to_call
)
qualify row_number() over (partition by call order by kind, other) <= most
order by call, kind, other;

-- I/O time of each process less that of collective calls, in which all wait for the last: who is slow, and not who waits.
create or replace macro own_time() as table
select
	process,
	(coalesce(sum(time) filter (is_outermost(enclosing_layer, enclosing)), 0)
		- coalesce(sum(time) filter (o.collective and not coalesce(e.collective, false)), 0)) as time
from counters as c
left join ops as o using (layer, op)
left join (select layer as enclosing_layer, op as enclosing, collective from ops) as e using (enclosing_layer, enclosing)
where is_io(c.layer, c.kind)
group by process;

-- Bytes that each layer read and wrote in each bin of time, from heat: of every level.
create or replace macro transfer_rate() as table
select
	start as time,
	layer,
	coalesce(sum(bytes) filter (operation = 'read'), 0) as "bytes read",
	coalesce(sum(bytes) filter (operation = 'write'), 0) as "bytes written"
from heat
where not is_no_io(layer)
group by start, layer
order by start, layer;
