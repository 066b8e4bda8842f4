-- From the calls themselves. `inside`: held by a call of the same layer (by server: by one that reached the storage), so it counts there.
-- A part of breakdown.sql.
holder as (
	select id, layer from calls where {holders}
),
picked as materialized (
	select c.id, c.layer, c.op, c.file, c.duration, c.nested, c.bytes, {key} as key, h.id is not null as inside
	from (select * from calls as c where {selected} and {any_io} and {reaches}) as c
		{whose}
		left join holder as h on h.id = c.parent and {same}
),
sums as (
	select
		key, layer, sum(if({exclusive}, duration - nested, duration)) filter ({exclusive} or not inside) as time, count(*) as calls,
		sum(bytes) filter (not inside) as bytes, max(duration) as longest
	from picked
	where {has_key}
	group by key, layer
),
below as (
	select
		p.key, p.layer, count(*) as calls, sum(b.duration) filter (b.kind = 'comm') as talked, count(*) filter (b.kind = 'comm') as talks,
		sum(b.bytes) filter (b.kind = 'comm') as exchanged, max(b.duration) filter (b.kind = 'comm') as longest_talk
	from calls as b join (from picked where {holds}) as p on b.parent = p.id
	where b.layer <> 'fathom' and {near_calls}
	group by p.key, p.layer
),
longest_call as (
	select s.key, s.layer, min(p.id) as call
	from picked as p join sums as s on s.key = p.key and s.layer = p.layer and s.longest = p.duration
	where {picked_has_key}
	group by s.key, s.layer
),
of_files as (
	select key, layer, server, time
	from (select key, layer, file, sum(duration) as time from picked where {has_key} group by all) left join server_file using (file)
)
