-- Calls inside the units, at any depth: `topmost` if none of its layer is around it, `unserved` if no call is around it that a server served,
-- `stored` if one is that reaches storage. `took` is the unit's time. Only calls that hold others are climbed, which are few where most
-- calls are system calls. `one`: these and the units. What scans all units and sums them does so apart from those inside: together nothing of
-- either could be left out. A part, after units.sql; {base} is the table of units.
{servers},
{parts},
enclosing as materialized (
	select id, parent, layer, if(id in (select client from sent), [layer, 'server'], [layer]) as layers
	from calls
	where id in (select parent from calls where parent is not null)
),
above as (
	select u.id, u.id as unit, u.who, u.duration as took, e.layers
	from (from {base} where id in (select id from enclosing)) as u join enclosing as e on e.id = u.id
	union all
	select e.id, a.unit, a.who, a.took, a.layers || e.layers
	from above as a join enclosing as e on e.parent = a.id
),
held as not materialized (
	select
		c.id, a.unit, a.who, c.process, c.call, c.layer, c.op, c.kind, c.file, c.start, c.duration, c.nested, c.bytes, c.error, c.collective, a.took,
		not list_contains(a.layers, c.layer) as topmost, not list_contains(a.layers, 'server') as unserved,
		list_has_any(a.layers, ['posix', 'stdio', 'aio']) as stored, false as alone
	from calls as c join above as a on c.parent = a.id
	where c.parent is not null
),
one as not materialized (
	select id, id as unit, who, process, call, layer, op, kind, file, start, duration, nested, bytes, error, collective, duration as took,
		true as topmost, true as unserved, false as stored, outermost as alone
	from {base}
	union all
	from held
)
