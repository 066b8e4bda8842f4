-- Inclusive and exclusive time of each layer, by {by}: a call inside another of its layer adds nothing inclusive; what a server did for a call
-- is taken from the call that it served, and no more than that kept for itself. `units`, `units_time`: of own calls, not of those inside.
-- `covered`: served calls that are inside another one. A part, after units.sql.
{inside},
above as (
	select id, parent from inside_own where {traced} and id in (select client from sent)
	union all
	select a.id, c.parent from above as a join inside_own as c on c.id = a.parent where {traced}
),
covered as materialized (
	select distinct id from above where parent in (select client from sent)
),
served_call as materialized (
	select o.who, o.process, o.call, o.layer, o.id not in (from covered) as unserved, s.*,
		least(s.time, o.duration - o.nested) as own_time, least(s.disk, o.duration - o.nested) as own_disk
	from one as o join sent as s on s.client = o.id
	where {traced}
),
stacked as not materialized (
	select {by}, layer, count(*) as calls, sum(duration) as inclusive, sum(duration - nested) as exclusive, 0 as after,
		count(*) as units, sum(duration) as units_time
	from {base}
	group by {by}, layer
	union all
	select {by}, layer, count(*), sum(if(topmost, duration, 0)), sum(duration - nested), 0, 0, 0
	from held
	group by {by}, layer
	union all
	select {by}, layer, 0, 0, -own_time, 0, 0, 0
	from served_call
	union all
	select {by}, 'server', requests, if(unserved, time, 0), own_time - own_disk, after, 0, 0
	from served_call
	union all
	select {by}, 'disk', disk_calls, if(unserved, disk, 0), own_disk, 0, 0, 0
	from served_call
)
