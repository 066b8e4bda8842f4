-- What each server did in the run, from counters.
with {servers}
select
	any_value(s.number) as number,
	server,
	sum(c.calls) as calls,
	coalesce(sum(c.calls - c.errors) filter (c.kind in ('read', 'write')), 0) as accesses,
	sum(c.errors) as errors,
	coalesce(sum(c.bytes) filter (c.kind = 'read'), 0) as bytes_read,
	coalesce(sum(c.bytes) filter (c.kind = 'write'), 0) as bytes_written,
	sum(c.time) as time,
	max(c.longest)::bigint as longest,
	count(distinct c.file)::bigint as files,
	count(distinct c.process)::bigint as processes
from asked as c join server as s using (server)
group by server
order by number
