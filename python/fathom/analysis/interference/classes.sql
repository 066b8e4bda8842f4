-- Calls at each server, of each process, by function and size (within a factor of 4), those during a span of another run
-- ($servers, $keys, $starts, $stops: its spans, side by side, none overlapping another of the same server) apart from the others.
with {storage},
span as (
	select unnest($servers) as server, unnest($keys) as key, unnest($starts) as begins, unnest($stops) as ends
),
told as (
	select a.*, coalesce(s.ends > a.start, false) as beside
	from at_server as a asof left join span as s on a.server = s.server and a.key = s.key and s.begins < a.start + a.duration
)
select
	server, key, process, layer, op, floor(log2(1 + bytes) / 2)::integer as size, beside,
	count(*) as calls, sum(duration)::bigint as time, sum(duration::double * duration) as squares
from told
group by all
order by all
