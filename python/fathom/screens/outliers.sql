-- The {limit} longest calls of each layer.
with {lane},
longest as (
	select unnest(arg_max(id, duration, {limit})) as id from calls group by layer
)
select id as call, lane, c.start, duration, layer, op
from calls as c join lane using (process)
where id in (select id from longest)
order by duration desc, id
