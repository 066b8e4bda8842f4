-- Of each of these calls the time of the calls inside it, layer by layer; what the libraries communicated in it is one more.
with recursive near as materialized (
	select * replace (if(kind = 'comm', 'communication', layer) as layer) from calls where stream in ({streams}) and start between {begin} and {end}
),
outer_call as (
	select * from near where id in ({roots})
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
		key, layer, coalesce(sum(if({exclusive}, duration - nested, duration)) filter ({exclusive} or not deeper), 0) as time, count(*) as calls,
		sum(bytes) filter (not deeper) as bytes, max(duration) as longest, arg_min(id, {time: -duration, id: id}) as call
	from inside
	group by key, layer
)
select
	s.key, s.layer, s.time::hugeint as time, s.calls::bigint as calls, o.op, o.start, o.duration, s.bytes::hugeint as bytes,
	s.longest::bigint as longest, s.call
from summed as s join outer_call as o on o.id = s.key
order by o.duration desc, s.key, s.time desc, s.layer
