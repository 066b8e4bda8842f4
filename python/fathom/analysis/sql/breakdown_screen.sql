-- Time by a key, layer by layer, as the screen Layers shows it. Rows are given by name, each with the `key` that it counts for.
-- What libraries communicated inside their I/O calls is a part of exclusive times of its own. Times in ns.

-- Calls with a key, and whether a call of the same layer holds each, so that it counts there. is_holder: a condition on calls that can
-- hold one; is_same: one on a call and its holder `h`.
create or replace macro key_calls(keyed_of, is_holder, is_same) as table
with holder as (
	select id, layer from calls where is_holder
)
select c.id, c.layer, c.op, c.file, c.duration, c.nested, c.bytes, c.key, h.id is not null as inside
from query_table(keyed_of) as c left join holder as h on h.id = c.parent and is_same;

-- Sums of key_calls(). has_key: a condition on those that count.
create or replace macro key_call_sums(picked_of, exclusive, has_key) as table
select
	key, layer, sum(if(exclusive, duration - nested, duration)) filter (exclusive or not inside) as time, count(*) as calls,
	sum(bytes) filter (not inside) as bytes, max(duration) as longest
from query_table(picked_of)
where has_key
group by key, layer;

-- What the calls inside key_calls() came to, and of these what was communication. holds: a condition on calls that hold others; is_near: on
-- calls `b` that can be inside.
create or replace macro key_call_inner(picked_of, holds, is_near) as table
select
	p.key, p.layer, count(*) as calls, sum(b.duration) filter (b.kind = 'comm') as talked, count(*) filter (b.kind = 'comm') as talks,
	sum(b.bytes) filter (b.kind = 'comm') as exchanged, max(b.duration) filter (b.kind = 'comm') as longest_talk
from calls as b join (from query_table(picked_of) where holds) as p on b.parent = p.id
where b.layer <> 'fathom' and is_near
group by p.key, p.layer;

-- The first of the longest calls of each key and layer. calls_of: name of rows `id`, `key`, `layer`, `duration`; sums_of: of sums.
create or replace macro key_longest(calls_of, sums_of) as table
select s.key, s.layer, min(c.id) as call
from query_table(calls_of) as c join query_table(sums_of) as s on s.key = c.key and s.layer = c.layer and s.longest = c.duration
group by s.key, s.layer;

-- Time of key_calls() by the server of their file.
create or replace macro key_call_servers(picked_of, has_key) as table
select key, layer, server, time
from (select key, layer, file, sum(duration) as time from query_table(picked_of) where has_key group by all)
	left join server_files() as server_file using (file);

-- Rows of `counters` as the calls that hold them: what is inside calls of a key.
create or replace macro counters_inside() as table
select b.process, b.enclosing_layer as layer, b.enclosing as op, o.kind, null::uinteger as file, b.layer as below,
	b.kind = 'comm' as talk, b.time, b.calls, b.bytes, b.longest
from counters as b left join ops as o on o.layer = b.enclosing_layer and o.op = b.enclosing
where b.enclosing is not null;

-- The same of counters. keyed_of: name of rows of counters_inside() with a key.
create or replace macro key_counter_inner(keyed_of) as table
select
	key, layer, sum(time) as time, sum(calls) filter (below <> 'fathom') as calls, sum(time) filter (talk) as talked,
	sum(calls) filter (talk) as talks, sum(bytes) filter (talk) as exchanged, max(longest) filter (talk) as longest_talk
from query_table(keyed_of)
group by key, layer;

-- Sums of counters with a key, and whether a call of the same layer holds theirs (`inside`). inner_of: name of rows of key_counter_inner().
create or replace macro key_counter_sums(keyed_of, inner_of, exclusive) as table
select
	a.key, a.layer, if(exclusive, greatest(0, a.every - coalesce(b.time, 0)), a.topmost) as time, a.calls, a.bytes, a.longest
from (
	select
		key, layer, sum(time) as every, sum(time) filter (not inside) as topmost, sum(calls) as calls,
		sum(bytes) filter (not inside) as bytes, max(longest) as longest
	from query_table(keyed_of)
	where key is not null
	group by key, layer
) as a left join query_table(inner_of) as b on b.key = a.key and b.layer = a.layer;

-- How long at least one of a key's calls ran: the union of their times. keyed_of: name of calls with a key.
create or replace macro key_unions(keyed_of) as table
select key, layer, sum(greatest(0, stop - greatest(start, coalesce(before, start)))) as time, sum(stop - start) as summed
from (
	select *, max(stop) over (partition by key, layer order by start rows between unbounded preceding and 1 preceding) as before
	from (select key, layer, start, start + duration as stop from query_table(keyed_of))
)
group by key, layer;

-- No union: too many calls to sort, or not all of them recorded.
create or replace macro no_key_unions() as table
select null::varchar as key, null::varchar as layer, null::bigint as time, null::bigint as summed where false;

-- Calls that traced servers served, with who served them, the `worker`, and for how long.
create or replace macro served_calls() as table
select c.process, c.layer, c.op, c.kind, c.file, c.start, c.duration, w.process as worker, w.duration as spent
from links as l join calls as w on w.id = l.from_call join calls as c on c.id = l.to_call
where l.kind = 'serves' and w.layer = 'server';

-- The rows of the screen: the keys with the most time, so many. sums_of, inner_of, longest_of, servers_of, unions_of: names of rows of the
-- macros above; is_inner_known: is it known what is inside the calls?
create or replace macro key_rows(sums_of, inner_of, longest_of, servers_of, unions_of, exclusive, is_inner_known, most) as table
with parts as (
	from query_table(sums_of)
	union all
	select key, 'communication', sum(talked), sum(talks), sum(exchanged), max(longest_talk)
	from query_table(inner_of)
	where exclusive and talks > 0
	group by key
),
shown as (
	select key from parts group by key order by sum(time) desc nulls last, key limit most
),
extremes as (
	select key, layer, arg_max(server, {time: time, server: server}) as most_server, arg_min(server, {time: time, server: server}) as least_server
	from (select key, layer, server, sum(time) as time from query_table(servers_of) where server is not null group by all)
	group by key, layer
)
select
	s.key::varchar as key, s.layer, coalesce(s.time, 0)::hugeint as time, s.calls::bigint as calls,
	if(is_inner_known, coalesce(b.calls, 0), null)::bigint as "sub-calls", coalesce(s.bytes, 0)::hugeint as bytes, s.longest::bigint as longest,
	l.call, e.most_server as "server with most", e.least_server as "server with least", 1 - u.time / nullif(u.summed, 0) as overlap
from parts as s semi join shown on shown.key = s.key
	left join query_table(inner_of) as b on b.key = s.key and b.layer = s.layer
	left join query_table(longest_of) as l on l.key = s.key and l.layer = s.layer
	left join extremes as e on e.key = s.key and e.layer = s.layer
	left join query_table(unions_of) as u on u.key = s.key and u.layer = s.layer
order by sum(s.time) over (partition by s.key) desc nulls last, s.key, s.time desc nulls last, s.layer;

-- Of these calls (is_root) the time of the calls inside each, layer by layer; what the libraries communicated in it is one more. is_near: a
-- condition on calls that can be inside.
create or replace macro layers_inside(is_root, is_near, exclusive) as table
with recursive near as materialized (
	select * replace (if(kind = 'comm', 'communication', layer) as layer) from calls where is_near
),
outer_call as (
	select * from near where is_root
),
inside as (
	select o.id as key, n.id, n.layer, n.duration, n.nested, n.bytes, false as deeper, [n.layer] as layers
	from outer_call as o join near as n on n.id = o.id
	union all
	select i.key, n.id, n.layer, n.duration, n.nested, n.bytes, list_contains(i.layers, n.layer) as deeper, list_append(i.layers, n.layer)
	from inside as i join near as n on n.parent = i.id
	where n.layer <> 'fathom'
),
summed as (
	select
		key, layer, coalesce(sum(if(exclusive, duration - nested, duration)) filter (exclusive or not deeper), 0) as time, count(*) as calls,
		sum(bytes) filter (not deeper) as bytes, max(duration) as longest, arg_min(id, {time: -duration, id: id}) as call
	from inside
	group by key, layer
)
select
	s.key, s.layer, s.time::hugeint as time, s.calls::bigint as calls, o.op, o.start, o.duration, s.bytes::hugeint as bytes,
	s.longest::bigint as longest, s.call
from summed as s join outer_call as o on o.id = s.key
order by o.duration desc, s.key, s.time desc, s.layer;
