-- Calls that reached a server (latency/servers.sql), one by one. Of a directory the file system's key is told too: two nodes may have the same path
-- on disks of their own. What a traced server did counts for the process whose call it served, that with most bytes in it; for the server where none
-- was recorded. Of processes $processes; empty: of all. A part of other statements, after `with`.
{latency/servers},
client as (
	select l.from_call as id, arg_max(c.process, l.bytes) as process
	from links as l join calls as c on c.id = l.to_call
	where l.from_call in (select id from calls where layer = 'server')
	group by l.from_call
),
at_any_server as (
	select s.server, coalesce(f.key, '') as key, c.process, c.layer, c.op, c.kind, greatest(0, coalesce(c.bytes, 0)) as bytes, c.start, c.duration
	from calls as c join server_file as s using (file) join files as f using (file)
	where c.layer in ('posix', 'stdio', 'aio') and c.kind not in ('comm', 'wait')
	union all
	select s.server, '', coalesce(o.process, c.process), c.layer, c.op, c.kind, greatest(0, coalesce(c.bytes, 0)), c.start, c.duration
	from calls as c join server_process as s using (process) left join client as o using (id)
	where c.layer = 'server' and c.kind <> 'comm'
),
at_server as (
	from at_any_server where len($processes) = 0 or list_contains($processes, process)
)
