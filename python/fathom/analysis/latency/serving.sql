-- Whose a server's name is: processes that served, or, where none did, files (servers.sql). A part of other statements, after `with`.
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
)
