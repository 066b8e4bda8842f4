-- Calls at each server, of each process, by function and size (within a factor of 4), those during a span of another run
-- ($servers, $keys, $starts, $stops: its spans, side by side, none overlapping another of the same server) apart from the others.
-- Time is cut into bins of $width ns: where one is all in spans, or all out of them, its calls are told at once. Only those of the other bins, and
-- those that last longer than one, are looked up among the spans; sorting them all would cost more than everything else.
with {storage},
span as (
	select unnest($servers) as server, unnest($keys) as key, unnest($starts) as begins, unnest($stops) as ends
),
piece as (
	select server, key, begins, ends, unnest(range(begins // $width, (ends - 1) // $width + 1)) as bin from span
),
bin as (
	select server, key, bin, sum(least(ends, (bin + 1) * $width) - greatest(begins, bin * $width)) = $width as full_
	from piece
	group by server, key, bin
),
looked_at as (
	select
		a.*,
		floor(log2(1 + a.bytes) / 2)::integer as size,
		case
			when coalesce(b.full_, false) then true
			when b.bin is null and a.start // $width = (a.start + greatest(a.duration, 1) - 1) // $width then false
		end as beside
	from at_server as a left join bin as b on a.server = b.server and a.key = b.key and b.bin = a.start // $width
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
order by all
