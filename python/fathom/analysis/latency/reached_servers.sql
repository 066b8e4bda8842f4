-- What traced servers did for the calls; what one had others do counts as its own in latency alone, and moves no bytes. A part of requests.sql.
select o.unit, o.id, o.who, o.process, o.call, o.op, o.start, o.took, false as single, s.number, p.time, p.after, p.bytes::hugeint as bytes,
	p.accesses::integer as accesses, p.requests::integer as requests
from one as o join (
	select client, server, max(time) as time, max(after) as after, sum(if(relayed, 0, bytes)) as bytes, sum(accesses) as accesses,
		sum(requests) as requests
	from part
	where {relays_set}
	group by client, server
) as p on p.client = o.id join server as s using (server)
