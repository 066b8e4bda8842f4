-- The program's own I/O: calls that no other recorded call holds but a region or a wait for threads. Their times never count twice.

-- Rows of `calls` that are the program's own I/O. Of those inside regions, `region` is the innermost's name, `regions` are all,
-- outermost first, and `site` is where the outermost one began if the call's own is not known. has_regions: there are any; has_talk: there are sockets and
-- pipes, which are left out. Where there are none, looking for them costs nothing. Times in ns.
create or replace macro own_calls(has_regions := true, has_talk := true) as table
with recursive talk as (
	select file from files as f where has_talk and not is_file(f.kind, f.path, f.file_system)
),
region as (
	select id, op as region, [op] as regions, site from calls where has_regions and is_region(layer) and parent is null
	union all
	select c.id, c.op, list_append(region.regions, c.op), region.site
	from region join calls as c on c.parent = region.id
	where is_region(c.layer)
)
select id, process, stream, rank, call, layer, op, kind, file, start, duration, nested, size, bytes, error, site, collective,
	true as outermost, null::varchar as region, null::varchar[] as regions
from calls as c
where depth = 0 and (not has_talk or file is null or file not in (from talk)) and is_own_layer(c.layer, c.kind)
union all
select c.id, c.process, c.stream, c.rank, c.call, c.layer, c.op, c.kind, c.file, c.start, c.duration, c.nested, c.size, c.bytes, c.error,
	coalesce(c.site, region.site), c.collective, false, region.region, region.regions
from calls as c join region on c.parent = region.id
where has_regions and (not has_talk or c.file is null or c.file not in (from talk)) and is_own_layer(c.layer, c.kind);

-- Rows of `counters` that are the program's own I/O, on files.
create or replace macro own_counters() as table
select c.*
from counters as c left join files as f using (file)
where is_outermost(c.enclosing_layer, c.enclosing) and is_own_layer(c.layer, c.kind) and is_file(f.kind, f.path, f.file_system);

-- Each function of the program's own I/O, over all processes; `complete`: all of its calls were recorded in each. Times in ns.
create or replace macro own_functions() as table
select
	layer,
	op,
	kind,
	sum(calls) as calls,
	sum(recorded) as recorded,
	bool_and(recorded = calls) as complete,
	sum(bytes) as bytes,
	sum(time) as time,
	max(longest) as longest,
	min(first_start) as first_start,
	max(last_stop) as last_stop
from own_counters()
group by layer, op, kind
order by layer, op, kind;

-- ns of the own I/O of each process that made any, in all threads and in its main one.
create or replace macro own_processes() as table
select process, any_value(p.rank) as rank, sum(c.time) as time, coalesce(sum(c.time) filter (c.thread_class = 'main'), 0) as main_time
from own_counters() as c join processes as p using (process)
group by process;

-- ns of the own I/O by rank, or by process where there are no ranks: amounts of dominance().
create or replace macro own_units(by_rank) as table
select if(by_rank, rank, process) as unit, time as amount from (from own_processes()) where not by_rank or rank is not null;

-- Ranks of the job, or, outside MPI, processes that made I/O calls of their own.
create or replace macro everyone() as table
select distinct rank as unit from processes where rank is not null
union all
select process from (from own_processes()) where not exists (select 1 from processes where rank is not null);

-- How the time of the program's own I/O calls is spread over everyone; those who made none count as 0. A rank is all processes that
-- it ran in. `most`: of the rank or process with the most; `together`: of all one after another, of none more than the run lasted;
-- `median`: of the one in the middle.
create or replace macro own_spread() as table
with each as materialized (
	select coalesce(rank, -1 - process::bigint) as unit, any_value(rank) as rank, first(process order by time desc, process) as process,
		sum(time) as time, max(main_time) as main_time
	from own_processes() group by unit
),
number as (
	select units, greatest(units, (select count(*) from each)) as everyone from (select count(*) as units from everyone())
),
zeros as (
	select units, everyone, everyone // 2 as middle, everyone - (select count(*) from each) as zeros from number
)
select
	any_value(units) as units,
	any_value(everyone) as everyone,
	max(time) as most,
	first(process order by time desc, process) as most_process,
	first(rank order by time desc, process) as most_rank,
	coalesce(max(main_time), 0)::hugeint as main_most,
	coalesce(sum(least(time, (select duration from runs))) filter (time is not null), 0) as together,
	coalesce(list_sort(list(time))[greatest(0, any_value(middle - zeros) + 1)], 0) as median
from zeros left join each on true;

-- ns during which at least one I/O call of $layer ran, anywhere in the run: the union of the calls'
-- intervals. With starts a(1..n) and stops z(1..n), each sorted alone, nothing runs between z(i) and
-- a(i+1) whenever z(i) < a(i+1), and only then; so the union is the whole span less these gaps.
-- Two sorts of single numbers are three times as fast as a running maximum over sorted pairs.
create or replace macro busy_layer(of_layer) as table
with starts as (
	select start as a from calls where layer = of_layer and kind <> 'comm' order by a
),
stops as (
	select start + duration as z from calls where layer = of_layer and kind <> 'comm' order by z
),
pairs as (
	select a, z, lead(a) over () as following from starts positional join stops
)
select max(z) - min(a) - sum(greatest(0, coalesce(following, z) - z)) as busy from pairs;

-- Were all I/O calls of a layer recorded, made by one main thread, and none inside another? Then they do not overlap, and their union
-- is their sum, in ns.
create or replace macro busy_alone(of_layer) as table
select
	count(distinct process) = 1 and bool_and(thread_class = 'main') and bool_and(enclosing_layer is distinct from of_layer)
		and sum(recorded) = sum(calls) as alone,
	sum(time) as busy
from counters
where layer = of_layer and kind <> 'comm';

-- ns during which at least one of the program's own I/O calls ran, anywhere: the union of their intervals, found as by busy_layer().
create or replace macro busy_own(has_regions := true, has_talk := true) as table
with own as not materialized (from own_calls(has_regions, has_talk)),
starts as (
	select start as a from own order by a
),
stops as (
	select start + duration as z from own order by z
),
pairs as (
	select a, z, lead(a) over () as following from starts positional join stops
)
select max(z) - min(a) - sum(greatest(0, coalesce(following, z) - z)) as busy from pairs;

-- ns during which at least one of the process's own I/O calls ran. One thread's never overlap, so only processes with more threads
-- need the union.
create or replace macro busy_processes(has_regions := true, has_talk := true) as table
with own as not materialized (from own_calls(has_regions, has_talk)),
sums as (
	select process, sum(duration) as busy, min(stream) <> max(stream) as threaded
	from own
	group by process
),
seen as (
	select
		process,
		start,
		start + duration as stop,
		max(start + duration) over (
			partition by process order by start
			rows between unbounded preceding and 1 preceding
		) as covered
	from own semi join (from sums where threaded) using (process)
)
select process, busy
from sums
where not threaded
union all
select process, sum(greatest(0, stop - greatest(start, coalesce(covered, start))))
from seen
group by process;

-- Where the program's own I/O calls were made from; of calls inside a region, where that began. Of a function that nearly all of them are made in,
-- for three or more callers, each caller has a row. Times in ns. Summed by site first: sites are few.
create or replace macro source_lines(has_regions := true, has_talk := true) as table
with own as not materialized (from own_calls(has_regions, has_talk)),
each as (
	select site, region, layer, op, kind, process, count(*) as calls, count(*) filter (error <> 0) as errors, sum(bytes) as bytes,
		sum(duration) as time, max(duration) as longest
	from own
	group by site, region, layer, op, kind, process
),
placed as materialized (
	select each.*, s.function, s.source, s.line, coalesce(s.users_module, s.module) as module, s.caller_function, s.caller_source, s.caller_line
	from each left join sites as s using (site)
),
shared as (
	select function, source
	from placed
	where caller_line is not null
	group by function, source
	having sum(calls) > 0.9 * (select sum(calls) from placed) and count(distinct caller_source || ':' || caller_line) >= 3
),
callers as (
	select placed.* replace (
		if(s.source is null, null, caller_function) as caller_function,
		if(s.source is null, null, caller_source) as caller_source,
		if(s.source is null, null, caller_line) as caller_line
	)
	from placed left join shared as s on s.function = placed.function and s.source = placed.source
)
select
	coalesce(function, '') as function,
	source,
	line,
	coalesce(module, '') as module,
	region,
	layer,
	op,
	kind,
	sum(calls) as calls,
	sum(errors) as errors,
	coalesce(sum(bytes), 0) as bytes,
	sum(time) as time,
	max(longest) as longest,
	count(distinct process)::bigint as processes,
	caller_function,
	caller_source,
	caller_line
from callers
group by all
order by time desc, source, line, op, caller_source, caller_line;

-- Each process with its `line`: ranks, or processes where there are no ranks (by_rank), in order and cut into at most most_lines
-- lines of `units` neighbours; null: it is no rank's. is_present: a condition on processes that count outside MPI. Where several
-- threads did I/O for one rank, that is `owner` and the process `maker`, since what they do side by side counts once; else null.
create or replace macro heat_lines(most_lines, by_rank, is_present) as table
with unit as (
	select distinct if(by_rank, rank, process) as unit
	from processes
	where if(by_rank, rank is not null, is_present)
),
placed as (
	select unit, (row_number() over (order by unit) - 1) // ceil(count(*) over () / most_lines)::bigint as line from unit
),
line as (
	select line, min(unit) as first_unit, max(unit) as last_unit, count(*) as units from placed group by line
),
threads as (
	select process, if(by_rank, rank, process) as unit, count(stream) as streams
	from processes left join streams using (process)
	group by process, unit
),
several as (
	select *, if(unit is null, streams, sum(streams) over (partition by unit)) > 1 as together from threads
)
select
	process, line, if(together, coalesce(unit, -1), null) as owner, if(together, process, null) as maker, first_unit, last_unit, units
from several left join placed using (unit) left join line using (line);

-- ns of I/O in each line and part of the run: what processes spent and what ranks did, of none more than the part lasts. A line without
-- I/O has one row without part. cells: name of rows `line`, `owner`, `maker`, `bin`, `time`; processes_of_lines: of rows of heat_lines().
create or replace macro heat_sums(bins, cells, processes_of_lines) as table
with line as (
	select distinct line, first_unit, last_unit, units from query_table(processes_of_lines) where line is not null
),
each as (
	select line, owner, bin, sum(if(maker is null, time, least(time, width))) as of_processes, sum(time) as time
	from (
		select line, owner, maker, greatest(0, least(bin, bins - 1)) as bin, sum(time) as time from query_table(cells) group by all
	), part_width(bins)
	group by all
),
sums as (
	select line, bin, sum(of_processes) as processes, sum(if(owner is null, time, least(time, width))) as ranks
	from each, part_width(bins)
	group by line, bin
)
select line, first_unit, last_unit, units, bin, processes::double as processes, ranks::double as ranks
from sums full join line using (line)
order by line, bin;

-- ns that ranks, in lines of neighbours, spent in the program's own I/O calls, in each of so many equal parts of the run. A call that
-- reaches over several parts is cut where they meet. Calls from and to the same parts are summed before they are cut.
create or replace macro heat_calls(bins, most_lines, by_rank, has_regions := true, has_talk := true) as table
with who as (from heat_lines(most_lines, by_rank, process in (select own.process from own_processes() as own))),
reach as (
	select line, owner, maker, start // width as head, (start + duration) // width as tail, count(*) as calls,
		sum(least(duration, (start // width + 1) * width - start)) as in_head,
		sum(start + duration - (start + duration) // width * width) as in_tail
	from own_calls(has_regions, has_talk) join who using (process), part_width(bins)
	group by all
),
cell as (
	select line, owner, maker, bin, case bin when head then in_head when tail then in_tail else calls * width end as time
	from (select *, unnest(range(head, tail + 1)) as bin from reach), part_width(bins)
)
from heat_sums(bins, 'cell', 'who');

-- The same from `heat`, which is there at every level: reads and writes only. Its parts are spread evenly over those asked for; of
-- layers inside one another the one with the most time counts. of_layers: those that the program calls itself; what MPI reads and
-- writes to start and to communicate is of others, as far as the program calls MPI-IO or more.
create or replace macro heat_counted(bins, most_lines, by_rank, of_layers) as table
with who as (
	from heat_lines(most_lines, by_rank, process in (select heat.process from heat where list_contains(of_layers, heat.layer)))
),
spread as (
	select process, layer, operation, time, start, stop, unnest(range(start // width, greatest(start, stop - 1) // width + 1)) as bin, width
	from (select * exclude (stop), greatest(start, least(stop, duration)) as stop from heat, runs), part_width(bins)
	where list_contains(of_layers, layer)
),
layers as (
	select process, layer, operation as kind, bin,
		sum(time * ((least(stop, (bin + 1) * width) - greatest(start, bin * width)) / greatest(1, stop - start))) as time
	from spread
	group by process, layer, operation, bin
),
cell as (
	select line, owner, maker, bin, time
	from (select process, kind, bin, max(time)::hugeint as time from layers group by process, kind, bin) join who using (process)
)
from heat_sums(bins, 'cell', 'who');
