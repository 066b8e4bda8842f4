-- Calls as lists of them show: those of `chosen`, with their lane, file and server. A part of other statements, after `with`.
{lane},
{latency/servers}
select c.id as call, parent, lane, c.rank, c.process, c.depth, c.layer, c.op, c.kind, c.start, c.duration, c.nested, c.duration - c.nested as exclusive,
	c.bytes, c.file, f.path, coalesce(sf.server, sp.server) as server
from ({chosen}) as c
left join lane on lane.process = c.process
left join files as f on f.file = c.file
left join server_file as sf on sf.file = c.file
left join server_process as sp on sp.process = c.process
