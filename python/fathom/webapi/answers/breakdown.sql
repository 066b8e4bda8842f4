-- Time by {by}, layer by layer, and what belongs to it: the longest call, sub-calls, servers, how much ran side by side. Of exclusive times
-- what the libraries communicated inside their I/O calls is a part of its own: by whom a call was made tells it from the program's.
with {lane},
{latency/servers},
{sums},
parts as (
	from sums
	union all
	select key, 'communication', sum(talked), sum(talks), sum(exchanged), max(longest_talk)
	from below
	where {exclusive} and talks > 0
	group by key
),
shown as (
	select key from parts group by key order by sum(time) desc nulls last, key limit {limit}
),
{of_server},
extremes as (
	select key, layer, arg_max(server, {time: time, server: server}) as most, arg_min(server, {time: time, server: server}) as least
	from (select key, layer, server, sum(time) as time from of_server where server is not null group by all)
	group by key, layer
),
{covered}
select
	s.key::varchar as key, s.layer, coalesce(s.time, 0)::hugeint as time, s.calls::bigint as calls,
	if({below_known}, coalesce(b.calls, 0), null)::bigint as "sub-calls", coalesce(s.bytes, 0)::hugeint as bytes, s.longest::bigint as longest,
	l.call, e.most as "server with most", e.least as "server with least", 1 - u.time / nullif(u.summed, 0) as overlap
from parts as s semi join shown on shown.key = s.key
	left join below as b on b.key = s.key and b.layer = s.layer
	left join longest_call as l on l.key = s.key and l.layer = s.layer
	left join extremes as e on e.key = s.key and e.layer = s.layer
	left join covered as u on u.key = s.key and u.layer = s.layer
order by sum(s.time) over (partition by s.key) desc nulls last, s.key, s.time desc nulls last, s.layer
