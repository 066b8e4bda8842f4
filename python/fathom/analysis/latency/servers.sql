-- What a server is: the process that made calls of layer `server`, named after its host and by its own name (host/fwd0; host/0, host/1 where
-- several served on one and had none, or host/fwd0/0 where they had the same). Of a run that has none, the directory of a file stands for one, and the lowest calls on that file are what it was asked.
-- `server_process` and `server_file` say whose, `asked` is the rows of `counters` that reached one, `server` numbers those of the run in
-- the order of their names. What a server had others do (kind `comm`) is their work. A part of other statements, after `with`.
served as (
	select count(*) > 0 as traced from counters where layer = 'server'
),
server_process as (
	select process, host || coalesce('/' || name, '')
		|| if(count(*) over same > 1, '/' || (row_number() over (same order by process) - 1), '') as server
	from (
		select process, node, host, if(list_contains(command, '--name'), command[list_position(command, '--name') + 1], null) as name
		from processes join nodes using (node)
		where process in (select process from counters where layer = 'server')
	)
	window same as (partition by node, name)
),
server_file as (
	select file, coalesce(nullif(regexp_extract(f.path, '^(.*)/[^/]*$', 1), ''), '/') as server
	from files as f
	where not (select traced from served) and f.path <> '' and coalesce(f.kind, 'unknown') in ('regular', 'block', 'unknown') and {of_files}
),
asked as (
	select c.*, s.server
	from counters as c join server_process as s using (process)
	where c.layer = 'server' and c.kind <> 'comm'
	union all
	select c.*, s.server
	from counters as c join server_file as s using (file)
	where {of_storage}
),
server as (
	select server, (row_number() over (order by server) - 1)::integer as number from (select distinct server from asked)
)
