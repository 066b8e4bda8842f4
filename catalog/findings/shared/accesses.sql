-- Reads and writes of POSIX and C streams that moved bytes, summed by thread, file, size and place in the file: what findings
-- on the shape of accesses stand on. From `calls`; of what was only counted, from `counters`: `bin` is then that of the mean size.
-- One pass in the order in which calls lie (thread after thread, by start): a window without a partition needs no sort.
-- Columns: process, stream (null: counted only), layer, kind, file, own (made by the program itself, not inside a library),
-- bin (floor of log2 of the bytes), aligned (begins and ends at a multiple of 4,096; null: not known), place (`on`: where the
-- one before on this file ended; `ahead`, `back`; null: not known), n, bytes, time, log_time (sum of ln of ns, for the
-- geometric mean, which a few slow calls do not move), longest, worst (its `calls.id`), first, last (ns), lowest, highest
-- (bytes of the file).
with each as (
	select
		id, process, stream, layer, kind, file, file_offset, bytes, start, duration,
		{outermost_call} as own,
		lag(stream) over () as stream_before,
		lag(file) over () as file_before,
		lag(file_offset + bytes) over () as end_before
	from calls
	where kind in ('read', 'write') and layer in ('posix', 'stdio') and bytes > 0 and error = 0 and state = 'done'
		and file is not null
),
recorded as (
	select
		process, stream, layer, kind, file, own,
		floor(log2(bytes))::int as bin,
		file_offset % 4096 = 0 and (file_offset + bytes) % 4096 = 0 as aligned,
		case
			when stream <> stream_before or file <> file_before then null
			when file_offset = end_before then 'on'
			when file_offset > end_before then 'ahead'
			when file_offset < end_before then 'back'
		end as place,
		count(*) as n,
		sum(bytes)::hugeint as bytes,
		sum(duration)::hugeint as time,
		sum(ln(greatest(duration, 1))) as log_time,
		max(duration) as longest,
		arg_max(id, duration) as worst,
		min(start) as first,
		max(start + duration) as last,
		min(file_offset) as lowest,
		max(file_offset + bytes) as highest
	from each
	group by all
),
counted as (
	select
		process, null::uinteger as stream, layer, kind, file,
		{outermost} as own,
		floor(log2(bytes / (calls - errors)))::int as bin,
		case when unaligned_file = 0 then true when unaligned_file > 0.5 * calls then false end as aligned,
		case when consecutive > 0.5 * calls then 'on' when sequential > 0.5 * calls then 'ahead' when sequential < 0.5 * calls then 'back' end
			as place,
		(calls - errors)::bigint as n,
		bytes,
		time,
		(calls - errors) * ln(greatest(1, time / (calls - errors))) as log_time,
		longest,
		null::ubigint as worst,
		first_start as first,
		last_stop as last,
		null::bigint as lowest,
		null::bigint as highest
	from counters
	where kind in ('read', 'write') and layer in ('posix', 'stdio') and recorded = 0 and bytes > 0 and calls > errors
)
from recorded
union all
from counted
