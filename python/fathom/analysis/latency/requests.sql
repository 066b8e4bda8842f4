-- What reached servers, which go by their numbers: of a traced server what it did for a call, else the call on a file itself. `single`: there is
-- no other of its outermost call. A part, after units.sql.
{inside},
numbered_file as materialized (
	select f.file, s.number from server_file as f join server as s using (server)
),
every_request as not materialized (
	select o.unit, o.id, o.who, o.process, o.call, o.op, o.start, o.took, false as single, s.number, p.time, p.after, p.bytes::bigint as bytes,
		p.accesses::integer as accesses, p.requests::integer as requests
	from one as o join part as p on p.client = o.id join server as s using (server)
	where $traced and not p.relayed
	union all
	select o.unit, o.id, o.who, o.process, o.call, o.op, o.start, o.took, o.alone, f.number, o.duration, 0,
		if(o.kind in ('read', 'write'), coalesce(o.bytes, 0), 0), (o.kind in ('read', 'write') and o.error = 0)::integer, 1
	from one as o join numbered_file as f using (file)
	where not $traced and o.request
),
{counted}
