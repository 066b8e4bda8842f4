-- The program's own I/O calls and the calls inside them, as a tree. Times in ns.

-- A row for each path from a line of the program through functions that hold one another, with the calls of the last one.
-- above: the node that holds it, null of the program's own calls; those alone have function, source, line, module, and the regions
-- that they lie in, outermost first. `self`: without what recorded calls inside took.
create or replace macro call_tree(has_regions := true, has_talk := true) as table
with recursive root as not materialized (
	select own.id, own.layer, own.op, own.bytes, own.duration, own.nested, own.regions, coalesce(s.function, '') as function, s.source, s.line,
		coalesce(s.module, '') as module,
		hash(own.layer, own.op, own.regions, s.function, s.source, s.line, s.module) as node
	from own_calls(has_regions, has_talk) as own left join sites as s using (site)
),
-- Most calls hold none: those alone are looked for that do.
holder as materialized (
	select id, parent, layer, op from calls where id in (select held.parent from calls as held where held.layer <> 'fathom')
),
walk as (
	select id, node, 1 as depth from root where id in (select holder.id from holder)
	union all
	select holder.id, hash(walk.node, holder.layer, holder.op), walk.depth + 1 from walk join holder on holder.parent = walk.id
)
select 0 as depth, node, null::ubigint as above, function, source, line, module, regions, layer, op, count(*) as calls,
	coalesce(sum(bytes), 0) as bytes, sum(duration) as time, sum(duration - nested) as self
from root
group by all
union all
select walk.depth, hash(walk.node, c.layer, c.op), walk.node, null, null, null, null, null, c.layer, c.op, count(*),
	coalesce(sum(c.bytes), 0), sum(c.duration), sum(c.duration - c.nested)
from calls as c join walk on c.parent = walk.id
where c.layer <> 'fathom'
group by walk.depth, walk.node, c.layer, c.op
order by depth, time desc;
