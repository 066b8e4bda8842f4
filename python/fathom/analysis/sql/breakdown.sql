-- Calls with all that they can be told apart by. Sums over any of these columns are what `fathom show --by` gives. Times in ns.

-- Rows of `counters` that are I/O. is_own: made by the program itself; is_served: it reached a server.
create or replace macro counter_keys() as table
select
	c.op, c.layer, if(is_outermost(c.enclosing_layer, c.enclosing), 'program', c.enclosing) as caller, c.kind as operation, p.rank, c.process,
	program_name(p.exe, p.command) as program,
	f.path, file_group(f.path) as file_group, file_suffix(f.path) as suffix, coalesce(server_process.server, server_file.server) as server,
	c.calls, c.errors, c.bytes, c.time, c.longest, c.size_histogram, direction(c.kind, c.op) as direction,
	is_outermost(c.enclosing_layer, c.enclosing) and is_own_layer(c.layer, c.kind) and is_file(f.kind, f.path, f.file_system) as is_own,
	c.layer = 'server' or server_file.file is not null and is_storage_access(c.layer, c.enclosing_layer, c.enclosing) as is_served
from counters as c join processes as p using (process) left join files as f using (file)
	left join server_processes() as server_process using (process) left join server_files() as server_file using (file)
where is_io(c.layer, c.kind);

-- Did this call reach a server: a traced one's own call, or the lowest call on a file that stands for one?
create or replace macro is_server_call(of_layer, of_file, of_holder, of_holder_op) as
of_layer = 'server'
or of_file in (select served.file from server_files() as served) and is_storage_access(of_layer, of_holder, of_holder_op);

-- Reads and writes by size, from the histograms of counters, with the same columns: how many, by `bin`, not how long.
create or replace macro size_keys() as table
select * exclude (calls, size_histogram), unnest(size_histogram) as calls, generate_subscripts(size_histogram, 1) - 1 as bin
from (from counter_keys() where direction is not null and size_histogram is not null);

-- I/O calls recorded in full, and what they were called from: for call_keys().
create or replace macro every_call() as table
select c.process, c.layer, c.op, c.kind, c.file, c.start, c.duration, c.size, c.bytes, c.error, c.site,
	e.layer as enclosing_layer, e.op as enclosing
from calls as c left join calls as e on e.id = c.parent
where is_io(c.layer, c.kind);

-- The program's own calls recorded in full, in the same form.
create or replace macro own_call_rows(has_regions := true, has_talk := true) as table
select process, layer, op, kind, file, start, duration, size, bytes, error, site, null::varchar as enclosing_layer, null::varchar as enclosing
from own_calls(has_regions, has_talk);

-- Calls recorded in full. rows_of: name of rows as every_call() gives them. cut: a call is cut where the run's equal parts, `bins` in
-- all, meet; it counts where it starts.
create or replace macro call_keys(rows_of, bins, cut) as table
with pieces as not materialized (
	select *, start // width as bin, 1 as call, if(cut, least(duration, (start // width + 1) * width - start), duration) as spent
	from query_table(rows_of), part_width(bins)
	union all
	select *, unnest(range(start // width + 1, (start + duration) // width + 1)) as bin, 0 as call,
		least(start + duration, (bin + 1) * width) - bin * width as spent
	from query_table(rows_of), part_width(bins)
	where cut and (start + duration) // width > start // width
)
select
	c.op, c.layer, if(is_outermost(c.enclosing_layer, c.enclosing), 'program', c.enclosing) as caller, c.kind as operation, p.rank, c.process,
	program_name(p.exe, p.command) as program,
	f.path, file_group(f.path) as file_group, file_suffix(f.path) as suffix, coalesce(server_process.server, server_file.server) as server,
	size_from(size_bin(c.size)) as size_from, size_below(size_bin(c.size)) as size_below,
	c.bin * c.width / 1e9 as start_seconds, (c.bin + 1) * c.width / 1e9 as stop_seconds,
	case when s.line is not null then s.source || ':' || s.line
		else coalesce(nullif(concat_ws(' in ', s.function, nullif(coalesce(s.users_module, s.module), '')), ''), 'unknown')
	end as source_line, s.function,
	call as calls, if(call = 1 and c.error <> 0, 1, 0) as errors, if(call = 1, c.bytes, 0) as bytes, spent as time, c.duration as longest
from pieces as c join processes as p using (process) left join files as f using (file) left join sites as s using (site)
	left join server_processes() as server_process using (process) left join server_files() as server_file using (file);

-- Reads and writes by part of the run, from `heat`, which is there at every level. Of its parts that reach over two of those asked
-- for, each gets its share.
create or replace macro heat_keys(bins) as table
with spread as (
	select *, unnest(range(start // width, greatest(start, stop - 1) // width + 1)) as bin
	from (select process, layer, operation, start, stop, calls, bytes, time from heat), part_width(bins)
	where not is_no_io(layer)
)
select
	c.layer, c.operation, p.rank, c.process, program_name(p.exe, p.command) as program, c.bin * c.width / 1e9 as start_seconds,
	(c.bin + 1) * c.width / 1e9 as stop_seconds,
	c.calls * share as calls, c.bytes * share as bytes, c.time * share as time
from (
	select *, (least(stop, (bin + 1) * width) - greatest(start, bin * width)) / greatest(1, stop - start) as share from spread
) as c join processes as p using (process);
