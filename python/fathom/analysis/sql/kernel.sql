-- What the kernel did for calls (`fathom run --kernel`, docs/kernel.md). Times in ns.

-- The program's own reads, writes and syncs of system calls, a row each, on nodes whose kernel was watched. So is what posts or awaits asynchronous
-- ones. What a thread made the kernel do during a call is the call's; posts and completions that are points in time have none. `missed`: bytes of a
-- read that the page cache did not have; `ahead`: others that came into it meanwhile. `requests` to block devices, their `request_bytes`;
-- `device_time`: during the call these were under way, or some of an earlier call of its thread that were then done; `queued`: sum of the waits
-- before the device had them. `paused`: as a writer; `journal_time`: of syncs, and writes that are one: a journal of the file's device was
-- committed. `origin` of the data: `cached`, `device`, `both`; null of what is no read or write, and where nothing moved.
create or replace macro kernel_calls() as table
with call as materialized (
	select
		c.id, c.process, c.thread, c.layer, c.op, c.kind, c.file, c.start, c.start + c.duration as stop, c.duration, c.bytes, c.file_offset,
		regexp_extract(f.key, ':(\d+:\d+)$', 1) as device
	from calls as c join processes as p using (process) left join files as f using (file)
	where is_system(c.layer) and c.nested = 0 and not c.runtime and not is_beside(c.layer, c.op)
		and (c.kind in ('read', 'write', 'sync') or c.layer = 'aio' and c.kind in ('post', 'wait') and c.duration > 0)
		and p.node in (select node from kernel_events)
),
during as materialized (
	select
		c.id, e.event, e.start, least(e.stop, c.stop) as stop, e.bytes, e.queued, e.inode, e.device,
		-- Where the offset is not known, as much as came may have been asked for.
		if(
			c.file_offset is null, least(e.bytes, c.bytes),
			greatest(0, least(e.at + e.bytes, c.file_offset + c.bytes) - greatest(e.at, c.file_offset))
		) as asked
	from (select * from kernel_events where tid is not null) as e
	asof join call as c on e.process = c.process and e.tid = c.thread and e.start >= c.start
	where e.start <= c.stop
),
pages as (
	select id, least(sum(asked), any_value(c.bytes)) as missed, sum(d.bytes) as arrived, max(split_part(d.device, ':', 1)) = '0' as remote
	from during as d join call as c using (id)
	where event = 'pages' and inode is not null
	group by id
),
-- Those that the call asked for; and those of an earlier call that were done during this one: it may have waited for them.
request as (
	select id, event, start, stop, bytes, queued, true as its_own from during where event in ('read', 'write', 'flush', 'other')
	union all
	select c.id, e.event, c.start, e.stop, 0, 0, false
	from (select * from kernel_events where event in ('read', 'write', 'flush', 'other') and tid is not null) as e
	asof join call as c on e.process = c.process and e.tid = c.thread and e.stop >= c.start
	where e.stop <= c.stop and e.start < c.start
),
apart as (
	select
		*, greatest(0, stop - greatest(start, coalesce(max(stop) over (partition by id order by start rows between unbounded preceding and 1 preceding), 0)))
			as alone
	from request
),
requests as (
	select
		id, count(*) filter (its_own) as requests, sum(bytes) as request_bytes, sum(alone) as device_time, sum(queued) as queued,
		coalesce(sum(bytes) filter (event = 'read'), 0) as read, coalesce(sum(bytes) filter (event = 'write'), 0) as written,
		bool_or(event = 'read' and not its_own) as awaited
	from apart
	group by id
),
paused as (
	select id, sum(stop - start) as paused from during where event = 'throttled' group by id
),
journal as (
	-- A fast commit that cannot be one has a whole one inside.
	select c.id, least(sum(least(e.stop, c.stop) - greatest(e.start, c.start)), any_value(c.duration)) as journal_time
	from call as c join kernel_events as e on e.event = 'commit' and e.device = c.device and e.start < c.stop and e.stop > c.start
	where c.kind = 'sync' or c.kind = 'write' and c.file in (from synced_by_open())
	group by c.id
)
select
	c.id as call, c.process, c.thread, c.layer, c.op, c.kind, c.file, c.start, c.duration, c.bytes,
	case
		when c.kind not in ('read', 'write') or coalesce(c.bytes, 0) <= 0 then null
		when c.kind = 'write' and coalesce(r.written, 0) = 0 then 'cached'
		when c.kind = 'write' then if(r.written >= c.bytes, 'device', 'both')
		-- Past the page cache: O_DIRECT.
		when coalesce(p.arrived, 0) = 0 and coalesce(r.read, 0) > 0 then if(r.read >= c.bytes, 'device', 'both')
		-- Pages of a hole come from no device; those of a network's file system from no block device.
		when coalesce(p.missed, 0) = 0 or coalesce(r.read, 0) = 0 and not p.remote then if(coalesce(r.awaited, false), 'both', 'cached')
		when p.missed >= c.bytes then 'device'
		else 'both'
	end as origin,
	if(c.kind = 'read', coalesce(p.missed, 0), null)::bigint as missed, (coalesce(p.arrived, 0) - coalesce(p.missed, 0))::bigint as ahead,
	coalesce(r.requests, 0) as requests, coalesce(r.request_bytes, 0)::bigint as request_bytes, coalesce(r.device_time, 0)::bigint as device_time,
	coalesce(r.queued, 0)::bigint as queued, coalesce(w.paused, 0)::bigint as paused, coalesce(j.journal_time, 0)::bigint as journal_time
from call as c
left join pages as p using (id) left join requests as r using (id) left join paused as w using (id) left join journal as j using (id);

-- Reads, writes and syncs by where their data were, the most time first: sums of kernel_calls().
create or replace macro kernel_origins() as table
select
	op, layer, origin, count(*) as calls, sum(bytes)::bigint as bytes, sum(duration)::bigint as time, sum(missed)::bigint as missed,
	sum(ahead)::bigint as ahead, sum(requests)::bigint as requests, sum(device_time)::bigint as device, sum(queued)::bigint as queued,
	sum(paused)::bigint as paused, sum(journal_time)::bigint as journal
from kernel_calls()
group by op, layer, origin
order by time desc, op, origin;

-- Does all that a file of this file system is read and written by go through the page cache or a block device? Clients of servers move bytes
-- that neither shows.
create or replace macro is_seen_by_kernel(file_system) as
(file_system is not null and not is_network(file_system) and file_system not in ('fuse', 'virtiofs', 'zfs') and file_system not like 'fuse.%');

-- What the kernel did in the time of kernel_calls(), by function and file, as parts of its time in counters: they are 1 together. `kernel`:
-- `write-back`: a writer was paused; `device`: requests of the block layer were under way, or the client of a server brought what the page
-- cache did not have; `journal`: a sync waited for its commit; `cache`: the rest of reads and writes, whose data were in memory; null: not
-- known. Where two are at once it is the first of these. Past the page cache (O_DIRECT) the rest is the device's.
create or replace macro kernel_parts() as table
with call as (
	select
		k.process, k.layer, k.op, k.kind, coalesce(k.file, -1)::bigint as file, k.duration, is_seen_by_kernel(f.file_system) as is_seen,
		least(k.duration, k.paused) as write_back,
		least(
			k.duration - write_back,
			if(
				is_seen or k.requests > 0 or k.kind in ('post', 'wait'), k.device_time,
				(k.duration * coalesce(k.missed / nullif(k.bytes, 0)::double, 0))::bigint
			)
		) as device,
		least(k.duration - write_back - device, k.journal_time) as journal,
		case
			when k.kind not in ('read', 'write') or not is_seen or coalesce(k.bytes, 0) <= 0 then null
			when k.origin = 'device' and (k.kind = 'write' or k.missed = 0 and k.ahead = 0) then 'device'
			else 'cache'
		end as others
	from kernel_calls() as k left join files as f using (file)
),
part as (
	select
		process, layer, op, file,
		unnest(['write-back', 'device', 'journal', others]) as kernel,
		unnest([write_back, device, journal, duration - write_back - device - journal]) as time
	from call
),
known as (
	select process, layer, op, file, kernel, sum(time) as time from part where kernel is not null group by all having sum(time) > 0
),
function as (
	select process, layer, op, coalesce(file, -1)::bigint as file, sum(time) as time from counters group by all
),
-- Rows of calls may be a little more than the sums of their counters.
whole as (
	select process, layer, op, file, greatest(any_value(f.time), sum(k.time)) as whole, whole - sum(k.time) as others
	from known as k join function as f using (process, layer, op, file)
	group by all
)
select process, layer, op, file, kernel, time / whole as part from known join whole using (process, layer, op, file)
union all
select process, layer, op, file, null, others / whole from whole where others > 0;

-- What the kernel did in each call for which a condition holds, and in calls of its thread inside it: sums of kernel_calls(), times in ns. rows_of: name
-- of rows of `calls`. Without a row it is not known.
create or replace macro kernel_inside(rows_of, which) as table
select
	c.id as call, sum(k.missed)::bigint as missed, sum(k.ahead)::bigint as ahead, sum(k.requests)::bigint as requests,
	sum(k.request_bytes)::bigint as request_bytes, sum(k.device_time)::bigint as device, sum(k.queued)::bigint as queued,
	sum(k.paused)::bigint as paused, sum(k.journal_time)::bigint as journal
from (select * from query_table(rows_of) where which) as c
	join kernel_calls() as k on k.process = c.process and k.thread = c.thread and k.start >= c.start and k.start <= c.start + c.duration
group by c.id;

-- What page faults made devices read of files that the program had open: requests that its threads asked for in no call of theirs. Columns: process,
-- tid, file, requests, bytes, waited (ns in which such requests were under way), first and past (bytes in the file, from and to).
create or replace macro kernel_faults() as table
with call as (
	select process, thread, start, start + duration as stop from calls where is_system(layer) and nested = 0
),
outside as (
	select e.*
	from (
		select * from kernel_events where event in ('pages', 'read') and tid is not null and process in (select process from processes)
	) as e
		asof left join call as c on e.process = c.process and e.tid = c.thread and e.start >= c.start
	where c.stop is null or e.start > c.stop
),
page as (
	select o.process, o.tid, o.start, f.file, o.at as first, o.at + o.bytes as past
	from outside as o join processes as p using (process) join nodes as n on n.node = p.node
		join files as f on f.inode = o.inode and f.key = n.boot_id || ':' || o.device
	where o.event = 'pages'
),
-- A thread asks for the pages that it brought last.
request as (
	select r.process, r.tid, r.start, r.stop, r.bytes, p.file
	from (select * from outside where event = 'read') as r asof join page as p on r.process = p.process and r.tid = p.tid and r.start >= p.start
),
apart as (
	select
		*, greatest(0, stop - greatest(start, coalesce(max(stop) over (
			partition by process, tid order by start rows between unbounded preceding and 1 preceding
		), 0))) as alone
	from request
),
moved as (
	select process, tid, file, count(*) as requests, sum(bytes)::bigint as bytes, sum(alone)::bigint as waited from apart group by all
),
stretch as (
	select process, tid, file, min(first) as first, max(past) as past from page group by all
)
from moved join stretch using (process, tid, file);

-- Where no kernel was watched: the columns of kernel_calls(), and no row.
create or replace macro no_kernel_calls() as table
select
	null::ubigint as call, null::uinteger as process, null::uinteger as thread, null::varchar as layer, null::varchar as op, null::varchar as kind,
	null::uinteger as file, null::bigint as start, null::bigint as duration, null::bigint as bytes, null::varchar as origin, null::bigint as missed,
	null::bigint as ahead, null::bigint as requests, null::bigint as request_bytes, null::bigint as device_time, null::bigint as queued,
	null::bigint as paused, null::bigint as journal_time
limit 0;

-- Of kernel_parts().
create or replace macro no_kernel_parts() as table
select
	null::uinteger as process, null::varchar as layer, null::varchar as op, null::bigint as file, null::varchar as kernel, null::double as part
limit 0;

-- Of kernel_faults().
create or replace macro no_kernel_faults() as table
select
	null::uinteger as process, null::uinteger as tid, null::uinteger as file, null::bigint as requests, null::bigint as bytes, null::bigint as waited,
	null::bigint as first, null::bigint as past
limit 0;
