-- Calls inside the program's own, in place of packed_own.sql: of runs packed before `calls` had them, and where signal handlers made calls.
holder as materialized (
	select id, parent, layer from calls where id in (select parent from calls)
),
climbed as (
	select id, id as own, duration as own_duration, [layer] as layers from own where id in (select id from holder)
	union all
	select h.id, c.own, c.own_duration, list_append(c.layers, h.layer) from climbed as c join holder as h on h.parent = c.id
),
inside_own as not materialized (
	select c.* replace (
		a.own as own, a.own_duration as own_duration, not list_contains(a.layers, c.layer) as topmost,
		if(is_system(c.layer) and not list_has_any(a.layers, ['posix', 'stdio', 'aio']), false, null) as alone)
	from calls as c join climbed as a on c.parent = a.id
),
own_request as not materialized (
	select * from own where outermost and is_system(layer)
)
