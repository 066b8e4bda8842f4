-- What limits of `fathom check` are on: amounts that are the same each time a program does the same, whatever else the machine does.

-- Files that hold data of the program. Its standard output and errors, and Python's sources, are none: who starts it decides about them.
-- Columns: file, path, file_group.
create or replace macro limited_files() as table
select f.file, f.path, file_group(f.path) as file_group
from files as f
where coalesce(f.kind, 'unknown') in ('regular', 'unknown') and is_file(f.kind, f.path, f.file_system)
	and f.path not like '%.py' and f.path not like '/dev/%'
	and f.file not in (select o.file from objects as o where o.inherited and o.descriptor in (1, 2) and o.file is not null)
	and f.path not in (select s.source from sites as s where s.source is not null);

-- What a call, or a row of counters, counts for: it reaches the storage (low), is MPI-IO's (middle), is the program's own; it moves data.
create or replace macro limited_as(layer, op, kind, enclosing_layer, enclosing, is_own) as
{
	'low': is_storage_access(layer, enclosing_layer, enclosing),
	'middle': layer = 'mpiio' and coalesce(enclosing_layer, '') <> 'mpiio',
	'own': is_own and is_own_layer(layer, kind),
	'request': direction(kind, op) is not null and not is_beside(layer, op)
};

-- Amounts of each such file, from counters, so of all calls at each level that knows files. Opens that succeeded, requests (reads and writes)
-- and syncs are those that reach the storage; bytes those of the lowest layer that moved any. Columns: file, path, file_group, opens, requests,
-- syncs, read, written, own_read, own_written (bytes; own: of the program's own calls), mpiio and collective (reads and writes of MPI-IO, and
-- of them those that all ranks make together).
create or replace macro limited_amounts() as table
with each as (
	select
		f.file, f.path, f.file_group, c.calls, c.errors, c.bytes, c.kind,
		limited_as(c.layer, c.op, c.kind, c.enclosing_layer, c.enclosing, is_outermost(c.enclosing_layer, c.enclosing)) as counts,
		(c.layer, c.op) in (select (o.layer, o.op) from account_collectives() as o) as collective
	from counters as c join limited_files() as f using (file)
),
sums as (
	select
		file, path, file_group,
		coalesce(sum(calls - errors) filter (counts.low and kind = 'open'), 0) as opens,
		coalesce(sum(calls) filter (counts.low and counts.request), 0) as requests,
		coalesce(sum(calls) filter (counts.low and kind = 'sync'), 0) as syncs,
		sum(bytes) filter (counts.low and kind = 'read') as low_read,
		sum(bytes) filter (counts.low and kind = 'write') as low_written,
		sum(bytes) filter (counts.middle and kind = 'read') as middle_read,
		sum(bytes) filter (counts.middle and kind = 'write') as middle_written,
		coalesce(sum(bytes) filter (counts.own and kind = 'read'), 0) as own_read,
		coalesce(sum(bytes) filter (counts.own and kind = 'write'), 0) as own_written,
		coalesce(sum(calls) filter (counts.middle and counts.request), 0) as mpiio,
		coalesce(sum(calls) filter (counts.middle and counts.request and collective), 0) as collective
	from each
	group by file, path, file_group
)
select
	* exclude (low_read, low_written, middle_read, middle_written),
	coalesce(nullif(low_read, 0), nullif(middle_read, 0), own_read) as read,
	coalesce(nullif(low_written, 0), nullif(middle_written, 0), own_written) as written
from sums
where opens > 0 or read > 0 or written > 0
order by path, file;

-- The same from calls in full, by file, regions of the program and line. Columns: those of limited_amounts(), time (ns of own calls), regions
-- (around the own call, from the outermost in; null: none), source, line, function (where it was made from).
create or replace macro limited_calls(has_regions := true, has_talk := true) as table
with own as materialized (
	select id, regions, site from own_calls(has_regions, has_talk)
),
each as (
	select
		f.file, f.path, f.file_group, own.regions, own.site, c.bytes, c.kind, c.error, c.duration,
		limited_as(c.layer, c.op, c.kind, p.layer, p.op, c.id = own.id) as counts,
		(c.layer, c.op) in (select (o.layer, o.op) from account_collectives() as o) as collective
	from calls as c join limited_files() as f using (file) join own on own.id = coalesce(c.own, c.id) left join calls as p on p.id = c.parent
),
sums as (
	select
		file, path, file_group, regions, site,
		count(*) filter (counts.low and kind = 'open' and error = 0) as opens,
		count(*) filter (counts.low and counts.request) as requests,
		count(*) filter (counts.low and kind = 'sync') as syncs,
		sum(bytes) filter (counts.low and kind = 'read') as low_read,
		sum(bytes) filter (counts.low and kind = 'write') as low_written,
		sum(bytes) filter (counts.middle and kind = 'read') as middle_read,
		sum(bytes) filter (counts.middle and kind = 'write') as middle_written,
		coalesce(sum(bytes) filter (counts.own and kind = 'read'), 0) as own_read,
		coalesce(sum(bytes) filter (counts.own and kind = 'write'), 0) as own_written,
		count(*) filter (counts.middle and counts.request) as mpiio,
		count(*) filter (counts.middle and counts.request and collective) as collective,
		coalesce(sum(duration) filter (counts.own), 0) as time
	from each
	group by file, path, file_group, regions, site
)
select
	sums.* exclude (site, low_read, low_written, middle_read, middle_written),
	coalesce(if(sum(low_read) over of_file > 0, low_read, if(sum(middle_read) over of_file > 0, middle_read, own_read)), 0) as read,
	coalesce(if(sum(low_written) over of_file > 0, low_written, if(sum(middle_written) over of_file > 0, middle_written, own_written)), 0) as written,
	s.source, s.line, s.function
from sums left join sites as s using (site)
window of_file as (partition by sums.file)
order by path, sums.file, source, line;
