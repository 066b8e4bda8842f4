-- The {limit} longest calls of each layer. Of most layers `least` says from which duration on one can be among them.
with {lane},
longest as (
	select unnest(arg_max(id, duration, {limit})) as id from calls where duration >= {least} group by layer
)
select id as call, lane, c.start, duration, layer, op
from calls as c join lane using (process)
where id in (select id from longest)
order by duration desc, id
