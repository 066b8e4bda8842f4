-- What a lake has of one run, beside its row (`fathom collect`): tables of one run, named in catalog/lake.toml. Seconds, not ns.

-- What the run did at the storage, by mount and direction (`other`: all that moves no bytes). `priced_seconds`: what such accesses take alone;
-- `learnt_…`: what the run itself shows of the mount's costs.
create or replace macro lake_mounts() as table
with price as (
	select file, kind, any_value(request) as request, any_value(per_byte) as per_byte from account_references() group by all
),
access as (
	select
		f.mount, f.file_system, coalesce(priced_way(c.kind, c.op), 'other') as kind, c.calls, coalesce(c.bytes, 0) as bytes, c.time / 1e9 as seconds,
		c.calls * p.request + coalesce(c.bytes, 0) * p.per_byte as priced
	from counters as c join files as f using (file) left join price as p on p.file = c.file and p.kind = priced_way(c.kind, c.op)
	where is_storage_access(c.layer, c.enclosing_layer, c.enclosing)
),
sums as (
	select
		mount, file_system, kind, sum(calls)::double as calls, sum(bytes)::double as bytes, sum(seconds)::double as seconds,
		sum(priced)::double as priced_seconds
	from access
	group by all
)
select s.*, m.per_byte::double as learnt_per_byte, m.request::double as learnt_request
from sums as s left join account_mounts() as m on m.mount = s.mount and m.file_system = s.file_system and m.kind = s.kind;

-- The account by cause and mount: seconds of the slowest process, and of all. The start-up of the run-time is among them.
create or replace macro lake_causes() as table
with cell as (
	select a.cause, a.process, a.time / 1e9 as seconds, f.mount, f.file_system
	from account_and_beside() as a left join files as f on f.file = a.file
),
slowest as (
	select process from chains() where chain in (select c.chain from account_chains() as c order by c.time desc, c.process limit 1)
)
select
	cause, mount, file_system, coalesce(sum(seconds) filter (process in (from slowest)), 0)::double as seconds, sum(seconds)::double as all_seconds
from cell
group by cause, mount, file_system
having all_seconds > 0;

-- On which servers each file lies, and which part of it on each: the OSTs of Lustre, where the layout is known, each with its share of the stripes;
-- else its mount, a local one with its host; nothing where forwarding servers were recorded, which are known by their processes.
create or replace macro lake_server_files() as table
with stripe as (from file_stripes()),
host as (select if(count(*) = 1 and min(host) <> 'unknown', min(host) || ':', '') as prefix from nodes)
select file, 'OST ' || ost as server, mount, stripes / sum(stripes) over (partition by file) as part
from stripe
where not (select traced from servers_traced())
union all
select s.file, if(s.peers is null and s.server not like '%:/%', h.prefix, '') || s.server as server, f.mount, 1.0 as part
from server_files() as s join files as f using (file), host as h
where s.file not in (select file from stripe);

-- Accesses of a run at its storage that moved bytes: of counters over the whole run, else, where `by_hours`, of calls by the hour of the clock
-- in which they began. Columns: server, mount, file_system, kind, begins, ends (ns since 1970), calls, bytes, seconds.
create or replace macro lake_servers(by_hours) as table
with file_part as (from lake_server_files()),
served as (
	select c.process, c.file, c.kind, c.calls, c.bytes, c.time, r.started as begins, r.started + r.duration as ends, c.layer = 'server' as forwarded
	from counters as c, runs as r
	where not by_hours and c.kind in ('read', 'write')
		and (c.layer = 'server' or is_storage_access(c.layer, c.enclosing_layer, c.enclosing))
	union all
	select
		c.process, c.file, c.kind, 1, coalesce(c.bytes, 0), c.duration, (r.started + c.start) // 3600000000000 * 3600000000000 as begins,
		begins + 3600000000000 as ends, c.layer = 'server' as forwarded
	from calls as c left join calls as p on p.id = c.parent, runs as r
	where by_hours and c.kind in ('read', 'write') and (c.layer = 'server' or is_storage_access(c.layer, p.layer, p.op))
),
placed as (
	select s.*, f.server, f.mount, f.part from served as s join file_part as f using (file) where not s.forwarded
	union all
	select s.*, p.server, null as mount, 1.0 as part from served as s join server_processes() as p using (process) where s.forwarded
)
select
	server, p.mount, any_value(f.file_system) as file_system, p.kind, begins, ends, sum(calls * part)::double as calls,
	sum(coalesce(bytes, 0) * part)::double as bytes, sum(time * part)::double / 1e9 as seconds
from placed as p left join files as f on f.file = p.file
group by server, p.mount, p.kind, begins, ends
having bytes > 0;
