-- What a server is: the process that made calls of layer `server`, named after its host (host/0, host/1 where several served on one). Of a
-- run that has none, the directory of a file stands for one, and the lowest calls on that file are what it was asked.
-- `server_process` and `server_file` say whose, `asked` is the rows of `counters` that reached one, `server` numbers those of the run in
-- the order of their names. A part of other statements, after `with`.
served as (
	select count(*) > 0 as traced from counters where layer = 'server'
),
server_process as (
	select process, n.host || if(count(*) over (partition by node) > 1, '/' || (row_number() over (partition by node order by process) - 1), '') as server
	from processes as p join nodes as n using (node)
	where process in (select process from counters where layer = 'server')
),
server_file as (
	select file, coalesce(nullif(regexp_extract(f.path, '^(.*)/[^/]*$', 1), ''), '/') as server
	from files as f
	where not (select traced from served) and f.path <> '' and coalesce(f.kind, 'unknown') in ('regular', 'block', 'unknown') and {of_files}
),
asked as (
	select c.*, s.server
	from counters as c join server_process as s using (process)
	where c.layer = 'server'
	union all
	select c.*, s.server
	from counters as c join server_file as s using (file)
	where {of_storage}
),
server as (
	select server, (row_number() over (order by server) - 1)::integer as number from (select distinct server from asked)
)
