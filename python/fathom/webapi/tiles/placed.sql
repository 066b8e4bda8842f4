-- Which bins and which row each of the rows `one` (id, lane, layer, op, kind, start, duration, calls, time, bytes) lasts through; bins are {width} ns,
-- a row of the picture is {lanes} lanes. Asked
-- twice, and cheaper to scan again than to keep. A part of other statements, after `with`.
placed as not materialized (
	select *, lane // {lanes} as row, greatest(start, 0) // {width} as first_bin,
		greatest(greatest(start, 0) // {width}, (start + duration - 1) // {width}) as last_bin
	from one
)
