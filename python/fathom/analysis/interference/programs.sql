-- Programs whose bytes traced servers moved: processes of one command line, and from when to when they ran. `program` is null for what
-- nobody recorded: that counts for the servers.
with {storage},
moved as (
	select distinct process from at_server where layer = 'server' and bytes > 0
),
named as (
	select
		p.*,
		case when process not in (select process from server_process) then coalesce(regexp_extract(exe, '[^/]*$'), command[1], '?') end as program
	from processes as p
	where process in (from moved)
)
select program, if(program is null, null, command) as words, max(ranks) as ranks, list(process order by process) as processes,
	min(start) as start, max(stop) as stop
from named
group by all
order by start, program
