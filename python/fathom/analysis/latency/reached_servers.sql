-- What traced servers did for the calls. A part of requests.sql.
select o.unit, o.id, o.who, o.process, o.call, o.op, o.start, o.took, false as single, s.number, p.time, p.after, p.bytes::hugeint as bytes,
	p.accesses::integer as accesses, p.requests::integer as requests
from one as o join part as p on p.client = o.id join server as s using (server)
where not p.relayed
