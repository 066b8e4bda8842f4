-- Inclusive and exclusive time of each layer, call by call: a call inside another of its layer adds nothing inclusive; what a server did for a call
-- is taken from what the call kept for itself, and no more than that. A part, after units.sql.
{inside},
stacked as not materialized (
	select who, process, call, layer, 1 as calls, if(topmost, duration, 0) as inclusive, duration - nested as exclusive, 0 as after
	from one
	union all
	select o.who, o.process, o.call, o.layer, 0, 0, -least(s.time, o.duration - o.nested), 0
	from one as o join sent as s on s.client = o.id
	union all
	select o.who, o.process, o.call, 'server', s.requests, if(o.unserved, s.time, 0),
		least(s.time, o.duration - o.nested) - least(s.disk, o.duration - o.nested), s.after
	from one as o join sent as s on s.client = o.id
	union all
	select o.who, o.process, o.call, 'disk', s.disk_calls, if(o.unserved, s.disk, 0), least(s.disk, o.duration - o.nested), 0
	from one as o join sent as s on s.client = o.id
)
