-- What a server is: the process that made calls of layer `server`, named after its host and by its own name (host/fwd0; host/0, host/1 where
-- several served on one and had none, or host/fwd0/0 where they had the same). Of a run that has none, the directory of a file stands for one, and the lowest calls on that file are what it was asked.
-- `server_process` and `server_file` say whose, `asked` is the rows of `counters` that reached one, `server` numbers those of the run in
-- the order of their names. What a server had others do (kind `comm`) is their work. A part of other statements, after `with`.
{latency/serving},
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
