-- `part`: what each server did for each call that it served. Clipped to that call: `time`; what went on when it had returned: `after`. Several
-- rows of one server for one call add up, but to no more than from the first's begin to the last's end. `disk` is what the server
-- spent in recorded calls of its own meanwhile: those inside its row, and its calls of layer `disk` that are linked to the call served. `sent`: of each call served the slowest server's time, since they work side by side (equation
-- 2.1). `relayed`: what it had other servers do, whose rows are parts too. `disk_calls`: how many those of its own were.
-- Where no server was traced, no_parts.sql stands for it. A part, after servers.sql.
of_rows as (
	select c.parent as id, sum(c.duration) as time, count(*) as calls
	from calls as c join calls as s on s.id = c.parent
	where c.parent is not null and s.layer = 'server' and c.layer not in ('server', 'fathom')
	group by c.parent
),
of_links as (
	select l.to_call as client, p.server, sum(c.duration) as spent, count(*) as calls
	from links as l join calls as c on c.id = l.from_call join server_process as p on p.process = c.process
	where l.kind in ('serves', 'carries') and c.layer = 'disk'
	group by l.to_call, p.server
),
pair as (
	select
		l.to_call as client, p.server, s.kind, s.kind = 'comm' as relayed, s.error, coalesce(s.bytes, 0) as bytes, s.start, s.duration, c.duration as took,
		coalesce(i.time, 0) as inside, coalesce(i.calls, 0) as inside_calls,
		least(c.duration, s.duration - greatest(0, s.start + s.duration - greatest(c.start + c.duration, s.start))) as within
	from links as l
		join calls as s on s.id = l.from_call
		join calls as c on c.id = l.to_call
		join server_process as p on p.process = s.process
		left join of_rows as i on i.id = s.id
	where l.kind = 'serves' and s.layer = 'server'
),
part as materialized (
	select
		pair.client, pair.server, relayed,
		count(*) as requests,
		count(*) filter (kind in ('read', 'write') and error = 0) as accesses,
		sum(bytes) as bytes,
		least(sum(duration), max(start + duration) - min(start)) as whole,
		least(any_value(took), sum(within), whole) as time,
		whole - time as after,
		least(sum(inside) + coalesce(any_value(d.spent), 0), time) as disk,
		sum(inside_calls) + coalesce(any_value(d.calls), 0) as disk_calls
	from pair left join of_links as d on d.client = pair.client and d.server = pair.server and not relayed
	group by pair.client, pair.server, relayed
),
sent as materialized (
	select client, sum(requests) as requests, max(time) as time, max(disk) as disk, max(after) as after, sum(disk_calls) as disk_calls
	from part group by client
)
