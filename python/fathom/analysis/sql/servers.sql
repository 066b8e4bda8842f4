-- What a server is: the process that made calls of layer `server`. Its name is that of its host and its own: host/fwd0; host/0,
-- host/1 where several had none; host/fwd0/0 where they had the same. Of a run that has none, a file's OSTs are, where its layout is known,
-- else its file system as a whole. What it was asked are then the lowest calls on that file.

-- Was a server traced? One row.
create or replace macro servers_traced() as table
select count(*) > 0 as traced from counters where layer = 'server';

-- Processes that served, by the names of their servers.
create or replace macro server_processes() as table
select process, host || coalesce('/' || name, '')
	|| if(count(*) over same > 1, '/' || (row_number() over (same order by process) - 1), '') as server
from (
	select process, node, host, if(list_contains(command, '--name'), command[list_position(command, '--name') + 1], null) as name
	from processes join nodes using (node)
	where process in (select process from counters where layer = 'server')
)
window same as (partition by node, name);

-- How files are striped, as hints in force say it: on how many servers, and in pieces of how many bytes (null: not said).
create or replace macro file_layouts() as table
select
	file,
	max(try_cast(value as bigint)) filter (key = 'striping_factor') as stripes,
	max(try_cast(value as bigint)) filter (key in ('striping_unit', 'stripe_size', 'lustre_stripe_size')) as stripe_bytes
from hints_in_force
where source = 'in force' and file is not null
group by file;

-- On which OSTs of Lustre files lie, where that is known: a row for each file and OST, with how many of the file's stripes it has, and
-- how many bytes a stripe has (null: not known, or not the same in all parts of the file). From the layouts in `hints_in_force`; one stripe
-- is also told by ROMIO's hints. The mount is in a server's name where files lie on several.
create or replace macro file_stripes() as table
with layout as (
	select
		file, max(value) filter (key = 'osts') as osts, max(value) filter (key = 'striping_factor') as stripes,
		max(value) filter (key = 'striping_unit') as unit, max(value) filter (key = 'start_iodevice') as first_ost
	from hints_in_force
	where file is not null and source = 'in force' and key in ('osts', 'striping_factor', 'striping_unit', 'start_iodevice')
	group by file
),
stripe as (
	select
		file, f.mount, try_cast(unit as bigint) as stripe_bytes,
		try_cast(unnest(string_split(coalesce(osts, if(stripes = '1' and f.file_system = 'lustre', first_ost, null)), ',')) as integer) as ost
	from layout join files as f using (file)
),
placed as (
	select file, mount, ost, count(*) as stripes, any_value(stripe_bytes) as stripe_bytes
	from stripe
	where ost >= 0
	group by all
)
select
	file, 'OST ' || ost || if((select count(distinct mount) from placed) > 1, coalesce(' of ' || mount, ''), '') as server,
	mount, ost, stripes, stripe_bytes
from placed;

-- OSTs as people write them: `OST 14`, `OSTs 0-3,8`. A row for each set of them; `mount` is null where files lie on one file system only.
create or replace macro ost_sets() as table
with stripe as (from file_stripes()),
of_file as (
	select file, list(ost order by ost) as osts, if((select count(distinct mount) from stripe) > 1, any_value(mount), null) as mount
	from stripe
	group by file
),
one as (
	select osts, mount, list(file) as files from of_file group by all
),
numbered as (
	select osts, mount, ost, ost - row_number() over (partition by osts, mount order by ost) as run
	from (select osts, mount, unnest(osts) as ost from one)
),
piece as (
	select osts, mount, min(ost) as first, if(count(*) = 1, '' || min(ost), min(ost) || if(count(*) = 2, ',', '-') || max(ost)) as words
	from numbered
	group by osts, mount, run
),
named as (
	select
		osts, mount,
		if(len(osts) = 1, 'OST ', 'OSTs ') || string_agg(words, ',' order by first) || coalesce(' of ' || mount, '') as server
	from piece
	group by osts, mount
)
select unnest(o.files) as file, n.server, len(o.osts) as osts
from one as o join named as n on n.osts = o.osts and n.mount is not distinct from o.mount;

-- Where no server was traced, what each file lies on: the OSTs of its layout, else its file system. A file that was met by its path only lies on
-- the mount next above it. `peers`: those that are compared with one another have the same; null: it is not a network's, whose calls are
-- served by this node's page cache and disk. A local file system is one server for each node.
create or replace macro server_files() as table
with place as (
	select mount, key, any_value(file_system) as file_system from files where mount is not null group by mount, key
),
host_of as (
	select p.mount, p.key, any_value(n.host) as host
	from place as p left join nodes as n on n.boot_id = split_part(p.key, ':', 1)
	where not is_network(p.file_system)
	group by p.mount, p.key
	qualify count(*) over (partition by p.mount) > 1
),
by_path as (
	select f.file, max_by({mount: p.mount, file_system: p.file_system}, length(p.mount)) as above
	from files as f join (select mount, any_value(file_system) as file_system from place group by mount) as p
		on starts_with(f.path, rtrim(p.mount, '/') || '/')
	where f.mount is null and f.file_system is null
	group by f.file
),
known as (
	select f.file, coalesce(f.mount, b.above.mount) as mount, coalesce(f.file_system, b.above.file_system) as file_system, f.key
	from files as f left join by_path as b using (file)
	where not (select traced from servers_traced()) and f.path <> '' and coalesce(f.kind, 'unknown') in ('regular', 'block', 'unknown')
		and is_file(f.kind, f.path, f.file_system)
)
select
	k.file,
	coalesce(o.server, h.host || ':' || k.mount, k.mount, k.file_system, 'unknown file system') as server,
	case when o.server is not null then 'OSTs of ' || coalesce(k.mount, '') when is_network(k.file_system) then k.file_system end as peers
from known as k left join ost_sets() as o using (file) left join host_of as h on h.mount = k.mount and h.key = k.key;

-- Rows of `counters` that reached a server. What a server had others do (kind `comm`) is their work.
create or replace macro server_counters() as table
select c.*, s.server
from counters as c join server_processes() as s using (process)
where c.layer = 'server' and c.kind <> 'comm'
union all
select c.*, s.server
from counters as c join server_files() as s using (file)
where is_storage_access(c.layer, c.enclosing_layer, c.enclosing);

-- The run's servers, numbered in the order of their names.
create or replace macro servers() as table
select server, (row_number() over (order by server) - 1)::integer as number from (select distinct server from server_counters());

-- What each server did in the run, from counters. Times in ns.
create or replace macro server_totals() as table
with asked as (from server_counters()),
server as (from servers())
select
	any_value(s.number) as number,
	server,
	sum(c.calls) as calls,
	coalesce(sum(c.calls - c.errors) filter (c.kind in ('read', 'write')), 0) as accesses,
	sum(c.errors) as errors,
	coalesce(sum(c.bytes) filter (c.kind = 'read'), 0) as bytes_read,
	coalesce(sum(c.bytes) filter (c.kind = 'write'), 0) as bytes_written,
	sum(c.time) as time,
	max(c.longest)::bigint as longest,
	count(distinct c.file)::bigint as files,
	count(distinct c.process)::bigint as processes
from asked as c join server as s using (server)
group by server
order by number;

-- What each server did over time: bins from `begin` on. A call's time and bytes are spread over the bins it lasts through, it
-- counts in that in which it began. stands_of: name of rows of server_processes() or server_files(), by whose column `by_what` calls are
-- told; is_named: a condition on `server`: it is drawn by its name; those without one together.
create or replace macro server_bins(selected, stands_of, by_what, is_reached, is_named, begin, bin_width, bins) as table
with named as (
	select *, if(is_named, server, null) as name from query_table(stands_of)
),
placed as (
	select
		name as server, c.kind, coalesce(c.bytes, 0) as bytes, c.start, c.duration,
		if(c.start < begin, -1, (c.start - begin) // bin_width) as first,
		if(c.start + c.duration <= begin, -1, (c.start + greatest(c.duration, 1) - 1 - begin) // bin_width) as last
	from (select * from calls as c where selected and is_reached) as c join named on named.what = by_what
),
pieces as (
	select *, unnest(range(greatest(0, first), least(last, bins - 1) + 1)) as bin from placed
),
shares as (
	select
		server, kind, bytes, duration, bin, bin = first as begins,
		least(start + duration, begin + (bin + 1) * bin_width) - greatest(start, begin + bin * bin_width) as time
	from pieces
)
select
	server, bin::integer as bin,
	coalesce(sum(bytes * if(duration = 0, 1, time / duration)) filter (kind = 'read'), 0)::double as read,
	coalesce(sum(bytes * if(duration = 0, 1, time / duration)) filter (kind = 'write'), 0)::double as written,
	sum(time) as busy, count(*) filter (begins) as calls
from shares
group by server, bin
order by server nulls last, bin;

-- The servers with the most time of the whole run, so many, so that they stay the same whatever is selected.
create or replace macro servers_with_most_time(most) as table
with asked as (from server_counters())
select server from asked group by server order by sum(time) desc, server limit most;

-- What each server was asked, from counters: of every level that knows files. A file system that was asked hardly
-- anything (settings are read at the start) is none of the job's storage, so the mean is without it: less than the part `hardly` of
-- the most.
create or replace macro server_loads(selected, hardly) as table
with served as (from servers_traced()),
asked as (from server_counters()),
sums as (
	select
		server,
		coalesce(sum(c.bytes) filter (c.kind = 'read'), 0) as read,
		coalesce(sum(c.bytes) filter (c.kind = 'write'), 0) as written,
		sum(c.time) as busy,
		sum(c.calls) as calls,
		max(c.longest) as longest
	from (select * from asked where selected) as c
	group by server
)
select
	server, read::hugeint as read, written::hugeint as written, busy::hugeint as busy, calls::bigint as calls, longest::bigint as longest,
	busy / nullif(avg(busy) filter (weighs) over (), 0) as "of the mean"
from (select *, (select traced from served) or busy >= hardly * max(busy) over () as weighs from sums)
order by busy desc, server;

-- Samples of nodes by bins of time from `begin` on. What only grows is a rate (bytes and counts per second; of times the share of one
-- processor, device or task); memory is as it was. Between two rows a value is a straight line. Of each group of measures and unit those
-- that reach highest, so many as `tracks`.
create or replace macro sample_bins(is_chosen, begin, bin_width, bins, tracks) as table
with line as (
	select
		node, what, device, unit, time as start, lead(time) over each as stop, value, lead(value) over each as next,
		what like 'memory.%' or what in ('agent.memory', 'threads') as level
	from samples
	where process is null and is_chosen
	window each as (partition by node, what, device order by time)
),
drawn as (
	select
		node, what, device, if(level, unit, case unit when 'bytes' then 'bytes/s' when 'ns' then 'share' else 'count' end) as unit,
		if(level, value, (next - value) * if(unit = 'ns', 1, 1e9) / (stop - start)) as a, if(level, next, a) as z, start, stop
	from line
	where stop > greatest(start, begin) and start < begin + bins * bin_width::bigint
),
highest as (
	select node, what, device
	from drawn
	group by node, what, device, unit
	qualify row_number() over (partition by split_part(what, '.', 1), unit order by max(greatest(a, z)) desc, node, what, device) <= tracks
),
placed as (
	select
		d.* exclude (a, z), a, z,
		unnest(range(greatest(0, (start - begin) // bin_width), least(bins - 1, (stop - 1 - begin) // bin_width) + 1)) as bin
	from drawn as d join highest as h on h.node = d.node and h.what = d.what and h.device is not distinct from d.device
),
cut as (
	select
		*, a + (z - a) * (greatest(start, begin + bin * bin_width) - start) / (stop - start) as first,
		a + (z - a) * (least(stop, begin + (bin + 1) * bin_width) - start) / (stop - start) as last
	from placed
)
select
	node, what, coalesce(device, '') as device, any_value(unit) as unit, bin::integer as bin, (begin + bin * bin_width::bigint)::bigint as time,
	min(least(first, last))::double as least, max(greatest(first, last))::double as most
from cut
group by node, what, device, bin
order by node, what, device, bin;
