-- title:  Accesses are slow while the node is loaded
-- layer:  node
-- limit:  accesses of one size and file take 2 times as long in loaded intervals as in others: 20 of each kind at least. Loaded:
--   processors above 90 % busy, tasks waiting for them, or for memory for 20 %. Or a disk 80 % busy, or an interface above 12.5
--   MB/s and half of its most
-- says:   on {host}, {n:count} accesses made while {what} ({share:percent} of the I/O time) took {times:times} as long as the same at other times:
--   {seconds:seconds} of the slowest process instead of {expected:seconds}
-- lost:   their time less that of the same accesses in calm intervals, of the process that lost most
-- sure:   0.5
-- fix:    {mend}
-- needs:  calls, samples
-- causes: contention, requests, unexplained, transfer, sync
-- seen:   Chang, Jin, Bauer 2016 (IOT and Pulse: a process's activity beside the system's)
with node_sample as (
	select
		node, what, device, time, value - lag(value) over moment as grew, time - lag(time) over moment as lasted
	from samples
	where process is null and what in ('cpu.idle', 'cpu.user', 'cpu.system', 'cpu.iowait', 'pressure.cpu.some', 'pressure.memory.some', 'disk.busy',
		'net.rx_bytes', 'net.tx_bytes', 'infiniband.rx_bytes', 'infiniband.tx_bytes') and device is distinct from 'lo'
	window moment as (partition by node, what, device order by time)
),
-- Values that stay as they are were left out, so each is spread over the common intervals: 100 ms.
piece as (
	select node, what, device, unnest(range((time - lasted) // 100000000, (time - 1) // 100000000 + 1)) as slot,
		time - lasted as began, time as ended, grew, lasted
	from node_sample
	where lasted > 0
),
part as (
	select
		node, slot, what, device,
		sum(grew * (least(ended, (slot + 1) * 100000000) - greatest(began, slot * 100000000))::double / lasted) / 1e8 as share
	from piece
	group by all
),
-- Bytes in a ns, of an interface also as a share of its most.
carried as (
	select *, share / nullif(max(share) over (partition by node, what, device), 0) as of_most from part
),
slot as (
	select
		node, slot,
		coalesce(sum(share) filter (what in ('cpu.user', 'cpu.system')), 0) as used,
		coalesce(sum(share) filter (what in ('cpu.idle', 'cpu.iowait')), 0) as idle,
		coalesce(max(share) filter (what = 'pressure.cpu.some'), 0) as cpu,
		coalesce(max(share) filter (what = 'pressure.memory.some'), 0) as memory,
		coalesce(max(share) filter (what = 'disk.busy'), 0) as disk,
		coalesce(max(of_most) filter (what like '%_bytes' and share >= 0.0125), 0) as network
	from carried
	group by all
),
state as (
	select
		node, slot,
		unnest([
			{'what': 'processors were all busy', 'loaded': used > 0.9 * (used + idle) and used > 0 or cpu > 0.2},
			{'what': 'memory was short', 'loaded': memory > 0.2},
			{'what': 'a disk was busy', 'loaded': disk > 0.8},
			{'what': 'the network was busy', 'loaded': network > 0.5}
		], recursive := true)
	from slot
),
-- What was so now and then: of what always was there is nothing to compare with.
changing as (
	select * from state
	window cause as (partition by node, what)
	qualify bool_or(loaded) over cause and bool_or(not loaded) over cause
),
access as (
	select
		p.node, c.process, c.file, c.layer, c.op, floor(log2(1 + greatest(0, coalesce(c.bytes, 0)))) as size, c.start // 100000000 as slot,
		count(*) as n, sum(c.duration) as time, arg_max(c.id, c.duration) as worst, max(c.duration) as longest
	from calls as c join processes as p using (process) join files as f using (file)
	where p.node in (select node from changing) and c.kind in ('read', 'write', 'sync') and c.layer in ('posix', 'stdio')
		and is_file(f.kind, f.path, f.file_system)
	group by all
),
class as (
	select
		a.node, s.what, a.file, a.layer, a.op, a.size,
		sum(a.time) filter (not s.loaded) / sum(a.n) filter (not s.loaded) as calm_mean,
		coalesce(sum(a.n) filter (not s.loaded), 0) as calm
	from access as a join changing as s using (node, slot) join files as f using (file)
	where s.what <> 'the network was busy'
		or coalesce(f.file_system, '') not in ('ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'zfs', 'tmpfs', 'overlay')
	group by all
	having sum(a.n) filter (not s.loaded) >= 20 and sum(a.n) filter (s.loaded) >= 20
),
of_process as (
	select
		a.node, c.what, a.process, sum(a.n) as n, sum(a.time) / 1e9 as seconds, sum(a.n * c.calm_mean) / 1e9 as expected,
		max_by(a.worst, a.longest, 8) as worst
	from access as a join changing as s using (node, slot) join class as c using (node, what, file, layer, op, size)
	where s.loaded
	group by all
),
slower as (
	select
		node, what, sum(n)::hugeint as n, sum(seconds) / sum(expected) as times, max(seconds - expected) as lost,
		arg_max(seconds, seconds - expected) as seconds, arg_max(expected, seconds - expected) as expected,
		arg_max(worst, seconds - expected) as calls, sum(seconds) as all_seconds
	from of_process
	group by node, what
)
select
	coalesce(h.host, 'one node') as host,
	f.* exclude (node, all_seconds),
	f.all_seconds / (select sum(time) / 1e9 from access as a where a.node = f.node) as share,
	case what
		when 'processors were all busy' then 'leave a processor for the system, or look who else runs on the node; threads that wait by spinning use it up too'
		when 'memory was short' then 'give the job more memory or fewer ranks per node: dirty pages and caches have no room'
		when 'the network was busy' then 'see what else goes through it: messages of this job while it reads or writes, other jobs; let them not fall together'
		else 'see who else uses this disk; let I/O of other jobs, or syncs of this one, not fall together'
	end as mend
from slower as f left join nodes as h using (node)
where times >= 2 and lost > greatest(0.01, (select duration / 1e11 from runs))
