-- title:  A server is slower than the others
-- layer:  server
-- limit:  a server takes twice the median one's time (of two: the other's) for the same functions and sizes, also without its
--   longest call. Compared are traced servers, OSTs of one Lustre file system by the layouts of files, and networks' file systems
--   of one type. Files on several OSTs are blamed on the OST whose other files are slow too. A local disk is none: what is slow
--   there is a cold page cache. Of a traced one the reason is the largest of disk, queue and network, from a third of the wait on
-- says:   {server}: {calls_made:count} calls[ on {files:count} files] took {seconds:seconds}, {times:times} as long as elsewhere ({expected:seconds})[:
--   its median file {file_seconds:seconds}, those of the other {osts:count} OSTs {least:seconds} to {most:seconds}]; {why}
-- lost:   the time of the process that lost most on it, less what its calls take on the usual server
-- sure:   0.7
-- fix:    {mend}
-- needs:  counters
-- causes: contention, requests, unexplained, transfer, names, sync, needless, locks
-- when:   exists (from counters where layer = 'server') or exists (from files where is_network(file_system)) or exists (from hints_in_force)
-- seen:   Islam, Mueller et al.: OST stragglers; thesis 2.5.3
with server_process as (from server_processes()),
server_file as (from server_files()),
stripe as (from file_stripes()),
-- Which servers are compared with one another.
peer as (
	select distinct server, peers from server_file where peers is not null
	union all
	select server, 'traced' from server_process
),
-- Clients' calls that one traced server served, nobody else, nor passed on: what each took beside the server's work, by the client's clock, is the way
-- there and back.
served_call as (
	select
		k.id, any_value(s.server) as server, any_value(k.process) as process, any_value(c.op) as op, any_value(k.start) as start,
		any_value(k.duration) as waited, sum(greatest(0, c.bytes)) as bytes, max(c.start + c.duration) - min(c.start) as inside
	from calls as c join server_process as s using (process) join links as l on l.from_call = c.id and l.kind = 'serves' join calls as k on k.id = l.to_call
	where exists (from server_process) and c.layer = 'server'
	group by k.id
	having count(distinct c.process) = 1 and bool_and(c.kind <> 'comm')
),
-- The median of a server's, times the calls: in some a client only lost its processor.
way as (
	select server, process, op, size, count(*) as calls, count(*) * any_value(typical) as time, min(start) as first, max(start + waited) as last
	from (
		select *, floor(log2(1 + bytes) / 2) as size, median(greatest(0, waited - inside)) over (partition by server, op, size) as typical
		from served_call
	)
	group by all
),
each as (
	select
		server, process, layer, op, floor(log2(1 + bytes / calls) / 2) as size, sum(calls) as calls, sum(time) as time, max(longest) as longest,
		min(first_start) as first, max(last_stop) as last
	from (select a.* exclude (bytes), greatest(a.bytes, 0) as bytes from server_counters() as a where kind not in ('comm', 'wait') and calls > 0)
	group by all
	union all
	select server, process, 'way', op, size, calls, time, null, first, last from way
),
-- What the program keeps its data on: a directory of settings that a library looks at is no server to compare with.
used as (
	select server from server_counters() join peer using (server) where kind in ('read', 'write') group by server
	qualify coalesce(sum(greatest(bytes, 0)), 0) >= 0.01 * max(coalesce(sum(greatest(bytes, 0)), 0)) over ()
),
mean as (
	select p.peers, server, layer, op, size, sum(time) / sum(calls) as mean
	from each join peer as p using (server)
	where server in (from used)
	group by all
),
usual as (
	select peers, layer, op, size, if(count(*) = 2, min(mean), median(mean)) as usual
	from mean
	group by all
	having count(*) >= 2
),
of_process as materialized (
	select server, process, coalesce(sum(calls) filter (layer <> 'way'), 0)::hugeint as calls, sum(time) / 1e9 as seconds, sum(calls * usual) / 1e9 as expected,
		coalesce(max(longest), 0) / 1e9 as longest, min(first) as first, max(last) as last
	from each join peer using (server) join usual using (peers, layer, op, size)
	group by server, process
),
suspect as (
	select server from of_process group by server having sum(seconds) - max(longest) >= 2 * sum(expected)
),
-- Of the OSTs that slow files lie on together, those whose other files are slow too: of each OST the part of its sets of files that is slow.
held as (
	select distinct s.server as ost, s.ost as number, f.server
	from stripe as s join server_file as f using (file)
	where f.server in (select server from of_process)
),
suspicion as (
	select *, avg((server in (from suspect))::int) over (partition by ost) as part from held
),
guilty as (
	select server, if(count(*) between 2 and 4, string_agg(ost, ', ' order by number), if(count(*) = 1, any_value(ost), server)) as slow_server
	from (from suspicion where server in (from suspect) qualify part = max(part) over (partition by server))
	group by server
),
blamed as (
	select s.server, coalesce(g.slow_server, s.server) as slow_server from suspect as s left join guilty as g using (server)
),
of_blamed as (
	select slow_server as server, process, sum(calls) as calls, sum(seconds) as seconds, sum(expected) as expected, max(longest) as longest,
		min(first) as first, max(last) as last
	from of_process join blamed using (server)
	group by slow_server, process
),
slow as materialized (
	select
		server, sum(calls)::hugeint as calls_made, sum(seconds) as seconds, sum(expected) as expected,
		max(seconds - expected) as lost, min(first) as first, max(last) as last
	from of_blamed
	group by server
	having max(seconds - expected) > greatest(0.01, (select duration / 1e11 from runs))
	order by lost desc
	limit 8
),
slow_file as (
	select f.file, b.slow_server as server, f.peers
	from server_file as f join blamed as b using (server)
	where b.slow_server in (select server from slow)
),
ost_or_osts as (
	select distinct f.server from slow_file as f where f.file in (select file from stripe)
),
-- Of an OST: how many files are on it, how long the median one's reads and writes take, and those of each other OST.
file_time as (
	select file, sum(time) / 1e9 as seconds from server_counters() where kind in ('read', 'write') group by file
),
ost_time as (
	select s.server, f.peers, count(*) as files, median(t.seconds) as seconds
	from stripe as s join server_file as f using (file) join file_time as t using (file)
	group by all
),
on_it as (
	select o.server, any_value(o.files) as files, any_value(o.seconds) as file_seconds, count(*) as osts, min(x.seconds) as least, max(x.seconds) as most
	from ost_time as o join ost_time as x on x.peers = o.peers and x.server <> o.server
	where o.server in (select server from slow)
	group by o.server
),
-- Its calls one by one, as long as it takes to see 200,000, of which medians say as much as of more: how many others were there
-- when each began, or came while it
-- ran, of whatever process of this run.
call as (
	select s.server, f.peers, c.id, c.op, c.layer, floor(log2(1 + greatest(0, coalesce(c.bytes, 0))) / 2) as size, c.start, c.duration,
		coalesce(lead(c.start) over (partition by s.server order by c.start, c.id) < c.start + c.duration, false) as joined
	from calls as c join slow_file as f using (file) join slow as s using (server)
	where is_system(c.layer) and c.start <= s.first + (s.last - s.first) * least(1, 2e5 / s.calls_made)
),
step as (
	select server, start as moment, 1 as delta, id from call
	union all
	select server, start + duration, -1, null from call
),
flight as (
	select server, id, sum(delta) over (partition by server order by moment, delta, id rows between unbounded preceding and current row) as at_once
	from step
),
queue as (
	select
		c.server,
		count(*) filter (f.at_once = 1 and not c.joined) as alone,
		-- Medians: one call during which its process lost the processor says nothing of the server.
		median(c.duration / u.usual) filter (f.at_once = 1 and not c.joined) as alone_times,
		median(c.duration / u.usual) filter (f.at_once > 1 or c.joined) as together_times,
		avg(f.at_once) as at_once,
		min(c.start) as first,
		max(c.start + c.duration) as last,
		max_by(c.id, c.duration, 8) as calls
	from call as c join flight as f using (server, id) join usual as u on u.peers = c.peers and u.layer = c.layer
		and u.op = c.op and u.size = c.size
	group by c.server
),
-- The busiest disk while it was asked: of a local file system it is one of this node's.
disk as (
	select q.server, s.device, (max(s.value) - min(s.value)) / (max(s.time) - min(s.time)) as busy
	from queue as q join samples as s on s.what = 'disk.busy' and s.time between q.first and q.last
	group by q.server, s.device
	having max(s.time) > min(s.time)
),
busiest as (
	select server, max(busy) as busy, arg_max(device, busy) as device from disk group by server
),
-- Of traced servers: how much of the time that their clients waited the disks took, requests waited for their turn there, and was spent on the way: what passed
-- before and after the server's work, and in it until data had come that it had asked for.
queued as (
	select p.server, sum(q.value) / sum(c.duration) as share, sum(d.value) / sum(c.duration) as pulled
	from calls as c join server_process as p using (process) left join args as q on q.call = c.id and q.name = 'queued'
		left join args as d on d.call = c.id and d.name = 'pulled'
	where c.layer = 'server' and c.kind <> 'comm' and p.server in (select server from slow)
	group by p.server
),
spent as (
	select server, layer, sum(time) as time from each where layer in ('server', 'way') group by server, layer
	union all
	select p.server, 'disk', sum(c.time) from counters as c join server_process as p using (process) where c.layer = 'disk' group by p.server
),
whole as (
	select server, sum(time) filter (layer <> 'disk') as time from spent group by server
),
traced as (
	select
		s.server, coalesce(sum(s.time) filter (layer = 'disk') / any_value(w.time), 0) as disk,
		coalesce(any_value(q.share) * sum(s.time) filter (layer = 'server') / any_value(w.time), 0) as queue,
		(coalesce(sum(s.time) filter (layer = 'way'), 0) + coalesce(any_value(q.pulled) * sum(s.time) filter (layer = 'server'), 0)) / any_value(w.time) as way
	from spent as s join whole as w using (server) left join queued as q using (server)
	group by s.server
),
-- Whom it served longest, alone or with others.
example as (
	select p.server, max_by(l.to_call, c.duration, 8) as calls
	from calls as c join server_process as p using (process) join links as l on l.from_call = c.id and l.kind = 'serves'
	where c.layer = 'server' and c.kind <> 'comm' and l.to_call is not null and p.server in (select server from slow)
	group by p.server
),
reason as (
	select
		s.*,
		coalesce(q.calls, e.calls) as calls,
		case
			when greatest(t.disk, t.queue, t.way) >= 1 / 3 then
				case greatest(t.disk, t.queue, t.way) when t.disk then 'disk' when t.queue then 'own queue' else 'network' end
			when q.alone >= 5 and q.alone_times < 1.5 and q.together_times >= 2 * q.alone_times then 'queue'
			when b.busy >= 0.8 then 'busy disk'
			when q.alone >= 5 and q.alone_times >= 2 then 'itself'
			else 'unknown'
		end as cause,
		q.alone_times, q.together_times, q.at_once, b.busy, b.device, t.disk, t.queue, t.way,
		i.server is not null as is_ost, o.files, o.file_seconds, o.osts, o.least, o.most
	from slow as s left join queue as q using (server) left join busiest as b using (server) left join traced as t using (server)
		left join example as e using (server) left join on_it as o using (server)
		left join ost_or_osts as i using (server)
)
select
	*,
	seconds / expected as times,
	case cause
		when 'disk' then format('its disk: {:.0f} % of its time', 100 * disk)
		when 'own queue' then format('its queue: requests wait there for {:.0f} % of their time', 100 * queue)
		when 'network' then format('the network: {:.0f} % of the time that its clients waited passed on the way there and back', 100 * way)
		when 'queue' then format(
			'its queue: a call that is there alone takes {:.1f} times the usual, together ({:.1f} at once) {:.1f} times (medians)',
			alone_times, at_once, together_times
		)
		when 'busy disk' then format('the disk: {} was busy {:.0f} % of that time', device, 100 * busy)
		when 'itself' then format(
			'not its queue: a call of this run that is there alone takes {:.1f} times the usual too; network or disk, not known which',
			alone_times
		)
		else 'why is not known'
	end as why,
	case
		when cause in ('queue', 'own queue') then 'spread the files over more servers, or let fewer ranks write there at once (collective calls)'
		when cause = 'network' then 'look at the network between it and the nodes of this job; let them ask a nearer server, or by fewer and larger'
			|| ' requests (collective calls)'
		when is_ost then 'leave it out: `lfs setstripe -o` with the numbers of other OSTs, or a pool without it (`lfs setstripe -p POOL`),'
			|| ' for the directory before files are made; tell the centre'
		when cause = 'unknown' then 'leave it out (files on other servers); to know why, record all calls and `--agent`'
		else 'leave it out: files on other servers; tell those who run it'
	end as mend,
	if(cause in ('unknown'), 0.5, 0.7) as sure
from reason
