-- Calls inside the units, at any depth: `topmost` if none of its layer is around it, `unserved` if no call is around it that a server served,
-- `stored` if one is that reaches storage. `took` is the unit's time. What is around a call is a number, a bit for each of $layers: of a call
-- that a server served also that of `server`, the first; those of storage are the next three. Only calls that hold others are climbed, which
-- are few where most calls are system calls. `one`: calls inside and the units. A part, after units.sql; {base} is the table of units,
-- {within} leaves of all calls those that can be inside.
{servers},
{parts},
inner_call as not materialized (
	select *, 1::ubigint << (list_position($layers, layer) - 1) as bit
	from calls {within}
	where parent is not null
),
outer_holder as materialized (
	select id, process, call, outermost, who, duration as took,
		(1::ubigint << (list_position($layers, layer) - 1)) | if(id in (select client from sent), 1, 0) as around
	from {base}
	where id in (select parent from inner_call)
),
inner_holder as materialized (
	select id, parent, bit | if(id in (select client from sent), 1, 0) as around
	from inner_call
	where id in (select parent from inner_call where depth > 1)
),
deeper as (
	select i.id, o.id as unit, o.who, o.took, o.around | i.around as around
	from inner_holder as i join outer_holder as o on i.parent = o.id
	union all
	select i.id, d.unit, d.who, d.took, d.around | i.around
	from deeper as d join inner_holder as i on i.parent = d.id
),
holder as not materialized (
	select id, id as unit, who, took, around from outer_holder
	union all
	from deeper
),
held as not materialized (
	select
		c.id, h.unit, h.who, c.process, c.call, c.layer, c.op, c.kind, c.file, c.start, c.duration, c.nested, c.bytes, c.error, c.collective, h.took,
		h.around & c.bit = 0 as topmost, h.around & 1 = 0 as unserved, h.around & 14 <> 0 as stored, false as alone
	from inner_call as c join holder as h on c.parent = h.id
),
one as not materialized (
	select id, id as unit, who, process, call, layer, op, kind, file, start, duration, nested, bytes, error, collective, duration as took,
		true as topmost, true as unserved, false as stored, outermost as alone
	from {base}
	union all
	from held
)
