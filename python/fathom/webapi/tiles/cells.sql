-- Cells of the rows `one`, from bin {first} up to before {last}. What a row has is spread evenly over the time that it lasts, in parts of which {parts}
-- are one. A row that lasts through several bins is told in two: its first, which gets what is due up to its end and says how much each ns gets
-- from then on; its last, which gets the rest and ends that. A cell has the whole ones that are due up to its end and were not up to its begin,
-- so cells always add up to the rows. A row counts in the bin in which it starts. Parts of other statements, after `with`.
{placed},
inside as (
	select layer, op, kind, row, first_bin as bin, sum(calls) as calls, sum(time) as time, sum(bytes) as bytes, {longest_of_rows}
	from placed
	where first_bin = last_bin and first_bin >= {first} and first_bin < {last}
	group by layer, op, kind, row, first_bin
),
lasting as materialized (
	select layer, op, kind, row, first_bin, last_bin, sum(calls) as calls, sum(time) as time, sum(bytes) as bytes, {longest_of_rows},
		sum({time_each}) as time_each, sum({bytes_each}) as bytes_each,
		sum({time_each} * ((first_bin + 1) * {width} - start)) as time_due, sum({bytes_each} * ((first_bin + 1) * {width} - start)) as bytes_due
	from placed
	where first_bin < last_bin and first_bin < {last} and last_bin >= {first}
	group by layer, op, kind, row, first_bin, last_bin
),
-- What lasted before {first} is told in the bin before.
edge as (
	select *, 0::hugeint as time_parts, 0::hugeint as bytes_parts, 0::hugeint as time_each, 0::hugeint as bytes_each, 0 as going
	from inside
	union all
	select layer, op, kind, row, greatest(first_bin, {first} - 1) as bin, if(first_bin < {first}, 0, calls), 0, 0, longest, call,
		time_due + time_each * {width} * (bin - first_bin), bytes_due + bytes_each * {width} * (bin - first_bin), time_each, bytes_each, 1
	from lasting
	union all
	select layer, op, kind, row, last_bin, 0, time, bytes, longest, call,
		- time_due - time_each * {width} * (last_bin - first_bin), - bytes_due - bytes_each * {width} * (last_bin - first_bin),
		- time_each, - bytes_each, -1
	from lasting
	where last_bin < {last}
),
step as (
	select layer, op, kind, row, bin, sum(calls) as calls, sum(time) as time, sum(bytes) as bytes, {longest},
		sum(time_parts) as time_parts, sum(bytes_parts) as bytes_parts, sum(time_each) as time_each, sum(bytes_each) as bytes_each,
		sum(going) as going
	from edge
	group by layer, op, kind, row, bin
),
since as (
	select *, sum(going) over so_far as going_on, sum(time_each) over so_far as time_on, sum(bytes_each) over so_far as bytes_on,
		lead(bin, 1, {last}) over so_far as next
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
		time_parts + {width} * (time_on - time_each) as time_parts, bytes_parts + {width} * (bytes_on - bytes_each) as bytes_parts
	from since
	union all
	select layer, op, kind, row, unnest(range(bin + 1, next)), 0, 0, 0, null, null, {width} * time_on, {width} * bytes_on
	from since
	where going_on > 0
	union all
	select layer, op, kind, row, unnest(range(greatest(first_bin + 1, {first}), least(last_bin, {last}))), 0, 0, 0, longest, call, 0, 0
	from through
	where before is null or before <= last_bin
),
whole as (
	select layer, op, kind, row, bin, sum(calls) as calls, sum(time) as time, sum(bytes) as bytes, {longest},
		sum(time_parts) as time_parts, sum(bytes_parts) as bytes_parts
	from piece
	group by layer, op, kind, row, bin
),
cells as (
	select layer, op, kind, row, bin, calls::bigint as calls,
		(time + sum(time_parts) over so_far // {parts} - (sum(time_parts) over so_far - time_parts) // {parts})::bigint as time,
		(bytes + sum(bytes_parts) over so_far // {parts} - (sum(bytes_parts) over so_far - bytes_parts) // {parts})::bigint as bytes,
		longest, call
	from whole
	window so_far as (partition by layer, op, kind, row order by bin rows unbounded preceding)
	qualify bin >= {first}
)
