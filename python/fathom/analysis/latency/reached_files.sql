-- The calls on files, where no server was traced. A part of requests.sql.
select o.unit, o.id, o.who, o.process, o.call, o.op, o.start, o.took, o.alone as single, f.number, o.duration as time, 0 as after,
	if(o.kind in ('read', 'write'), coalesce(o.bytes, 0), 0) as bytes, (o.kind in ('read', 'write') and o.error = 0)::integer as accesses,
	1 as requests
from one as o join numbered_file as f using (file)
where o.request
