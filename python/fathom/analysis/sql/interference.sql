-- Calls at servers, of several runs or programs at once. Times in ns unless a name says seconds.

-- Calls that reached a server, one by one. Of a directory the file system's key is told too: two nodes may have the same path
-- on disks of their own. What a traced server did counts for the process whose call it served, that with most bytes in it; for the
-- server where none was recorded. Of these processes; empty: of all.
create or replace macro calls_at_servers(of_processes := []) as table
with server_process as (from server_processes()),
server_file as (from server_files()),
client as (
	select l.from_call as id, arg_max(c.process, (l.bytes, -c.process::bigint)) as process
	from links as l join calls as c on c.id = l.to_call
	where l.from_call in (select id from calls where layer = 'server')
	group by l.from_call
),
at_any_server as (
	select s.server, coalesce(f.key, '') as key, c.process, c.layer, c.op, c.kind, greatest(0, coalesce(c.bytes, 0)) as bytes, c.start, c.duration
	from calls as c join server_file as s using (file) join files as f using (file)
	where is_system(c.layer) and c.kind not in ('comm', 'wait')
	union all
	select s.server, '', coalesce(o.process, c.process), c.layer, c.op, c.kind, greatest(0, coalesce(c.bytes, 0)), c.start, c.duration
	from calls as c join server_process as s using (process) left join client as o using (id)
	where c.layer = 'server' and c.kind <> 'comm'
)
select * from at_any_server where len(of_processes) = 0 or list_contains(of_processes, process);

-- When at least one call of the run was at each server; gaps shorter than `gap` ns are closed, so that there are few spans. Calls that begin in
-- the same `gap` have a shorter one between them, whatever they are: they are summed up first.
create or replace macro server_spans(gap, of_processes := []) as table
with at_server as (from calls_at_servers(of_processes)),
slot as (
	select server, key, min(start) as start, max(start + duration) as stop
	from at_server
	group by server, key, start // gap
),
marked as (
	select
		*,
		coalesce(
			start - max(stop) over (partition by server, key order by start rows between unbounded preceding and 1 preceding) >= gap, true
		) as fresh
	from slot
),
numbered as (
	select *, sum(fresh::int) over (partition by server, key order by start rows unbounded preceding) as number from marked
)
select server, key, min(start) as start, max(stop) as stop
from numbered
group by server, key, number
order by server, key, start;

-- What the run asked of each server, and between when: from `calls`. `seconds` of the process that spent most there, and of all.
create or replace macro server_sums(of_processes := []) as table
with at_server as (from calls_at_servers(of_processes)),
each as (
	select server, key, process, count(*) as calls, sum(duration) as time, sum(bytes) filter (kind = 'read') as bytes_read,
		sum(bytes) filter (kind = 'write') as bytes_written
	from at_server
	group by all
)
select
	server, key, sum(calls) as calls, sum(time) / 1e9 as seconds, max(time) / 1e9 as longest_seconds,
	coalesce(sum(bytes_read), 0) as bytes_read, coalesce(sum(bytes_written), 0) as bytes_written
from each
group by server, key
order by server, key;

-- Calls at each server, of each process, by function and size (within a factor of 4). Those during a span of another run are apart from
-- the others; its spans of a server do not overlap. Time is cut into bins of bin_width ns: where one is
-- all in spans, or all out of them, its calls are told at once. Only those of the other bins, and those that last longer than one, are
-- looked up among the spans; sorting them all would cost more than everything else.
create or replace macro server_classes(span_servers, span_keys, span_starts, span_stops, bin_width, of_processes := []) as table
with at_server as (from calls_at_servers(of_processes)),
span as (
	select unnest(span_servers) as server, unnest(span_keys) as key, unnest(span_starts) as begins, unnest(span_stops) as ends
),
piece as (
	select server, key, begins, ends, unnest(range(begins // bin_width, (ends - 1) // bin_width + 1)) as bin from span
),
bin as (
	select server, key, bin, sum(least(ends, (bin + 1) * bin_width) - greatest(begins, bin * bin_width)) = bin_width as full_
	from piece
	group by server, key, bin
),
looked_at as (
	select
		a.*,
		floor(log2(1 + a.bytes) / 2)::integer as size,
		case
			when coalesce(b.full_, false) then true
			when b.bin is null and a.start // bin_width = (a.start + greatest(a.duration, 1) - 1) // bin_width then false
		end as beside
	from at_server as a left join bin as b on a.server = b.server and a.key = b.key and b.bin = a.start // bin_width
),
classified as (
	select server, key, process, layer, op, size, beside, duration from looked_at where beside is not null
	union all
	select a.server, a.key, a.process, a.layer, a.op, a.size, coalesce(s.ends > a.start, false), a.duration
	from (from looked_at where beside is null) as a
		asof left join span as s on a.server = s.server and a.key = s.key and s.begins < a.start + greatest(a.duration, 1)
)
select
	server, key, process, layer, op, size, beside,
	count(*) as calls, sum(duration) as time, sum(duration::double * duration) as squares
from classified
group by all
order by all;

-- Programs whose bytes traced servers moved: processes of one command line, and from when to when they ran. `program` is null for what
-- nobody recorded: that counts for the servers.
create or replace macro server_programs(of_processes := []) as table
with server_process as (from server_processes()),
at_server as (from calls_at_servers(of_processes)),
moved as (
	select distinct process from at_server where layer = 'server' and bytes > 0
),
named as (
	select
		p.*,
		case when process not in (select process from server_process) then program_name(exe, command) end as program
	from processes as p
	where process in (from moved)
)
select program, if(program is null, null, command) as words, max(ranks) as ranks, list(process order by process) as processes,
	min(start) as start, max(stop) as stop
from named
group by all
order by start, program;
