-- Calls that reached a server (latency/servers.sql), one by one. Of a directory the file system's key is told too: two nodes may have the same path
-- on disks of their own. A part of other statements, after `with`.
{latency/servers},
at_server as (
	select s.server, coalesce(f.key, '') as key, c.process, c.layer, c.op, c.kind, greatest(0, coalesce(c.bytes, 0)) as bytes, c.start, c.duration
	from calls as c join server_file as s using (file) join files as f using (file)
	where c.layer in ('posix', 'stdio', 'aio') and c.kind not in ('comm', 'wait')
	union all
	select s.server, '', c.process, c.layer, c.op, c.kind, greatest(0, coalesce(c.bytes, 0)), c.start, c.duration
	from calls as c join server_process as s using (process)
	where c.layer = 'server' and c.kind <> 'comm'
)
