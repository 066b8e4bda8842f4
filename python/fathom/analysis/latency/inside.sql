-- Calls inside the units, at any depth: `topmost` if none of its layer is around it, `request` if it reaches storage and no other such is around it,
-- `alone` if it is the only one of its outermost call. `took` is the unit's time. `one`: calls inside and the units. A part, after units.sql;
-- {base} is the table of units; `around` says which calls as c are inside them, `calls_inside` is packed_own.sql or climbed_own.sql.
server_file as (from server_files()),
server as (from servers()),
{parts},
{calls_inside},
held as not materialized (
	select
		c.id, c.own as unit, c.{who}::bigint as who, c.process, c.call, c.layer, c.op, c.kind, c.file, c.start, c.duration, c.nested, c.bytes,
		c.error, c.collective, c.own_duration as took, c.topmost, c.alone is not null as request, c.alone and not $regions as alone
	from inside_own as c
	where {around}
),
one as not materialized (
	select id, id as unit, who, process, call, layer, op, kind, file, start, duration, nested, bytes, error, collective, duration as took,
		true as topmost, is_system(layer) as request, outermost as alone
	from {base}
	union all
	from held
)
