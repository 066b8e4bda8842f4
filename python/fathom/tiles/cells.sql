-- Cells of the rows `one`, from bin {first} up to before {last}. What a row has is spread over its bins by the time that it lasts in each, in whole
-- numbers: a bin gets what is due up to its end less what was due up to its begin, so bins always add up to the row. A row counts in the bin
-- in which it starts. Parts of other statements, after `with`.
{placed},
spread as (
	select *, unnest(range(greatest(first_bin, {first}), least(last_bin + 1, {last}))) as bin
	from placed
	where first_bin < last_bin
),
piece as (
	select layer, op, kind, row, first_bin as bin, calls, time, bytes, duration, id
	from placed
	where first_bin = last_bin and first_bin >= {first} and first_bin < {last}
	union all
	select layer, op, kind, row, bin, if(bin = first_bin, calls, 0) as calls,
		{time_next} - {time_so_far} as time, {bytes_next} - {bytes_so_far} as bytes, duration, id
	from spread
),
cells as (
	select layer, op, kind, row, bin, sum(calls)::bigint as calls, sum(time)::bigint as time, sum(bytes)::bigint as bytes,
		{longest}
	from piece
	group by layer, op, kind, row, bin
)
