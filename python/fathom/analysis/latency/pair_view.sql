-- Each process and server. Energy: $active watts while the server serves the
-- call, $inactive until the call ends.
with recursive {units},
{requests},
several as (
	select number, any_value(who) as who, least(sum(time), any_value(took)) as busy, any_value(took) as took
	from request
	where not single
	group by unit, number
),
of_several as (
	select who, number, count(*) as calls, sum(busy * $active + (took - busy) * $inactive) as energy from several group by who, number
),
sums as (
	select
		who, number,
		count(*) filter (single) as calls,
		count(*) as subcalls,
		sum(requests)::bigint as requests,
		sum(accesses)::bigint as accesses,
		sum(bytes)::bigint as bytes,
		sum(time)::bigint as time,
		(sum(time) filter (accesses > 0))::bigint as data_time,
		sum(after)::bigint as after,
		max(time) as longest,
		min(time) as shortest,
		coalesce(sum(time) filter (single), 0) * $active as energy
	from request
	group by who, number
)
select
	s.who, s.number, (s.calls + coalesce(v.calls, 0))::bigint as calls, s.subcalls, s.requests, s.accesses, s.bytes, s.time as server_time,
	s.time / s.subcalls as mean, s.longest, s.shortest, s.after, s.data_time, s.bytes / nullif(s.data_time, 0) * 1e3 as server_rate,
	s.energy + coalesce(v.energy, 0) as energy
from sums as s left join of_several as v using (who, number)
order by s.who, s.number
