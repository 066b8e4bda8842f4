-- The program's own I/O calls and the calls inside them, as a tree. Times in ns.

-- A row for each path from a line of the program through functions that hold one another, with the calls of the last one.
-- above: the node that holds it, null of the program's own calls; those alone have their site, and the regions that they lie
-- in, outermost first. `self`: without what recorded calls inside took.
create or replace macro call_tree(has_regions := true, has_talk := true) as table
with recursive root as not materialized (
	select id, layer, op, bytes, duration, nested, regions, site, hash(layer, op, regions, site) as node
	from own_calls(has_regions, has_talk)
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
select 0 as depth, node, null::ubigint as above, site, regions, layer, op, count(*) as calls,
	coalesce(sum(bytes), 0) as bytes, sum(duration) as time, sum(duration - nested) as self
from root
group by all
union all
select walk.depth, hash(walk.node, c.layer, c.op), walk.node, null, null, c.layer, c.op, count(*),
	coalesce(sum(c.bytes), 0), sum(c.duration), sum(c.duration - c.nested)
from calls as c join walk on c.parent = walk.id
where c.layer <> 'fathom'
group by walk.depth, walk.node, c.layer, c.op
order by depth, time desc;

-- The user's lines that led to each site, outermost first: function, source, line, module. A line may be there twice. frames: all functions
-- instead, those of libraries too. wanted: a list of sites; null: all.
create or replace macro site_paths(frames := false, wanted := null::uinteger[]) as table
with recursive walk as (
	select site, site as at, caller, 0 as depth from sites where wanted is null or list_contains(wanted, site)
	union all
	select walk.site, walk.caller, s.caller, walk.depth + 1 from walk join sites as s on s.site = walk.caller
)
select walk.site, list(case when frames then {
	'function': coalesce(s.frame_function, ''), 'source': s.frame_source, 'line': s.frame_line, 'module': coalesce(s.module, '')
} else {
	'function': coalesce(s.function, ''), 'source': s.source, 'line': s.line, 'module': coalesce(s.users_module, s.module, '')
} end order by walk.depth desc) as path
from walk join sites as s on s.site = walk.at
where frames or walk.depth = 0 or not coalesce(s.in_library, false)
group by walk.site;
