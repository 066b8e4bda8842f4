-- Cells of the pictures of ranks and time: of a zoom's rows of lanes and bins of time. Times in ns.

-- The id of the longest; of equally long ones the least, where arg_max takes whichever it meets. Ids are below 2^64.
create or replace macro longest_id(duration, id) as
(max(duration) * 18446744073709551616::hugeint - max(duration * 18446744073709551616::hugeint - id))::ubigint;

-- Rows to be drawn: calls for which a condition holds.
create or replace macro tile_calls(which) as table
select c.id, lane, c.layer, c.op, c.kind, c.start, c.duration, 1 as calls, c.duration as time, coalesce(c.bytes, 0) as bytes
from (from calls where which) as c join lanes() using (process);

-- Rows to be drawn of a run whose calls are only counted: its heat, that knows no single call.
create or replace macro tile_heat(which) as table
select null::ubigint as id, lane, layer, operation as op, operation as kind, heat.start, heat.stop - heat.start as duration,
	heat.calls::bigint as calls, time, bytes
from (from heat where which) as heat join lanes() using (process);

-- Which bins and which row each row that rows_of names (of tile_calls() or tile_heat()) lasts through.
create or replace macro tile_places(rows_of, bin_width, lanes_of_row) as table
select *, lane // lanes_of_row as row, greatest(start, 0) // bin_width as first_bin,
	greatest(greatest(start, 0) // bin_width, (start + duration - 1) // bin_width) as last_bin
from query_table(rows_of);

-- Cells of rows, from bin first_of up to before last_of. What a row has is spread evenly over the time that it lasts, in parts of which
-- 2^48 are one. A row that lasts through several bins is told in two: its first, which gets what is due up to its end and says how much
-- each ns gets from then on; its last, which gets the rest and ends that. A cell has the whole ones that are due up to its end and were
-- not up to its begin, so cells always add up to the rows. A row counts in the bin in which it starts. Of equally long calls `call` is the
-- one with the least id.
create or replace macro tile_cells(rows_of, bin_width, lanes_of_row, first_of, last_of) as table
with placed as not materialized (from tile_places(rows_of, bin_width, lanes_of_row)),
inside as (
	select layer, op, kind, row, first_bin as bin, sum(calls) as calls, sum(time) as time, sum(bytes) as bytes, max(duration) as longest,
		longest_id(duration, id) as call
	from placed
	where first_bin = last_bin and first_bin >= first_of and first_bin < last_of
	group by layer, op, kind, row, first_bin
),
lasting as materialized (
	select layer, op, kind, row, first_bin, last_bin, sum(calls) as calls, sum(time) as time, sum(bytes) as bytes, max(duration) as longest,
		longest_id(duration, id) as call,
		sum(time * 281474976710656::hugeint // duration) as time_each, sum(bytes * 281474976710656::hugeint // duration) as bytes_each,
		sum(time * 281474976710656::hugeint // duration * ((first_bin + 1) * bin_width - start)) as time_due,
			sum(bytes * 281474976710656::hugeint // duration * ((first_bin + 1) * bin_width - start)) as bytes_due
	from placed
	where first_bin < last_bin and first_bin < last_of and last_bin >= first_of
	group by layer, op, kind, row, first_bin, last_bin
),
-- What lasted before first_of is told in the bin before.
edge as (
	select *, 0::hugeint as time_parts, 0::hugeint as bytes_parts, 0::hugeint as time_each, 0::hugeint as bytes_each, 0 as going
	from inside
	union all
	select layer, op, kind, row, greatest(first_bin, first_of - 1) as bin, if(first_bin < first_of, 0, calls), 0, 0, longest, call,
		time_due + time_each * bin_width * (bin - first_bin), bytes_due + bytes_each * bin_width * (bin - first_bin), time_each, bytes_each, 1
	from lasting
	union all
	select layer, op, kind, row, last_bin, 0, time, bytes, longest, call,
		-time_due - time_each * bin_width * (last_bin - first_bin), -bytes_due - bytes_each * bin_width * (last_bin - first_bin),
		-time_each, -bytes_each, -1
	from lasting
	where last_bin < last_of
),
step as (
	select layer, op, kind, row, bin, sum(calls) as calls, sum(time) as time, sum(bytes) as bytes, max(longest) as longest, longest_id(longest, call) as call,
		sum(time_parts) as time_parts, sum(bytes_parts) as bytes_parts, sum(time_each) as time_each, sum(bytes_each) as bytes_each,
		sum(going) as going
	from edge
	group by layer, op, kind, row, bin
),
since as (
	select *, sum(going) over so_far as going_on, sum(time_each) over so_far as time_on, sum(bytes_each) over so_far as bytes_on,
		lead(bin, 1, last_of) over so_far as next
	from step
	window so_far as (partition by layer, op, kind, row order by bin rows unbounded preceding)
),
-- Between a row's first and last bin no more than the longest is to be known: none that begins after another one and ends before it.
through as (
	select *, max(last_bin) over (
		partition by layer, op, kind, row order by first_bin range between unbounded preceding and 1 preceding
	) as before
	from lasting
	where first_bin + 1 < last_bin
),
piece as (
	select layer, op, kind, row, bin, calls, time, bytes, longest, call,
		time_parts + bin_width * (time_on - time_each) as time_parts, bytes_parts + bin_width * (bytes_on - bytes_each) as bytes_parts
	from since
	union all
	select layer, op, kind, row, unnest(range(bin + 1, next)), 0, 0, 0, null, null, bin_width * time_on, bin_width * bytes_on
	from since
	where going_on > 0
	union all
	select layer, op, kind, row, unnest(range(greatest(first_bin + 1, first_of), least(last_bin, last_of))), 0, 0, 0, longest, call, 0, 0
	from through
	where before is null or before <= last_bin
),
whole as (
	select layer, op, kind, row, bin, sum(calls) as calls, sum(time) as time, sum(bytes) as bytes, max(longest) as longest, longest_id(longest, call) as call,
		sum(time_parts) as time_parts, sum(bytes_parts) as bytes_parts
	from piece
	group by layer, op, kind, row, bin
)
select layer, op, kind, row, bin, calls::bigint as calls,
	(time + sum(time_parts) over so_far // 281474976710656 - (sum(time_parts) over so_far - time_parts) // 281474976710656)::bigint as time,
	(bytes + sum(bytes_parts) over so_far // 281474976710656 - (sum(bytes_parts) over so_far - bytes_parts) // 281474976710656)::bigint as bytes,
	longest, call
from whole
window so_far as (partition by layer, op, kind, row order by bin rows unbounded preceding)
qualify bin >= first_of;

-- How many cells a zoom would have, at most: those in which a call starts, about, and those that calls last into beyond it, each once; the
-- latter, for which calls are sorted, are left out where the former alone are more than `most`. Of every so many rows these are, as many times
-- as much. Each row by itself, so that the counts of some rows each add up to that of all.
create or replace macro tile_count(rows_of, bin_width, lanes_of_row, most, every) as table
with placed as not materialized (from tile_places(rows_of, bin_width, lanes_of_row)),
started as (
	select coalesce(every * sum(cells), 0) as cells
	from (select approx_count_distinct(hash(layer, op, first_bin)) as cells from placed group by row)
),
lasting as (
	select first_bin, last_bin, max(last_bin) over (
		partition by layer, op, row order by first_bin rows between unbounded preceding and 1 preceding
	) as before
	from placed
	where last_bin > first_bin and (select cells from started) <= most
)
select
	((select cells from started) + every * coalesce(sum(greatest(0, last_bin - greatest(first_bin, coalesce(before, first_bin)))), 0))::bigint as cells
from lasting;

-- Processes of each row of a zoom's picture, and their events: cells are whole where rows are.
create or replace macro tile_rows(lanes_of_row) as table
select list(process order by process) as processes, sum(events)::bigint as events
from lanes() join processes using (process)
group by lane // lanes_of_row
order by min(process);
