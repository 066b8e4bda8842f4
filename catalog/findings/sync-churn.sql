-- title:  A sync after every few writes
-- layer:  posix
-- limit:  a process synced a file 8 times or more, with at most 4 writes for each sync
-- says:   {path}: {syncs:count} syncs by {who} for {writes:count} writes of {size:size} on average; {seconds:seconds} in syncs of the slowest
-- lost:   syncs of the slowest process, but for each file's longest and the time of its bytes at the rate of writes
-- sure:   0.8
-- fix:    sync once, when what was written is complete; for data that must be safe at once, larger records or a log of its own
-- needs:  counters
-- seen:   Carns et al. 2011 (Darshan counts them)
with each as (
	select
		p.place as path, p.file, c.process,
		sum(c.calls - c.errors) filter (c.kind = 'sync') as syncs,
		sum(c.calls - c.errors) filter (c.kind = 'write') as writes,
		sum(c.bytes) filter (c.kind = 'write') as bytes,
		sum(c.time) filter (c.kind = 'sync') / 1e9 as seconds,
		max(c.longest) filter (c.kind = 'sync') / 1e9 as longest
	from counters as c join places() as p using (file)
	where c.layer = 'posix' and c.kind in ('sync', 'write')
	group by p.place, p.file, c.process
	having syncs >= 8 and writes <= 4 * syncs
),
process as (
	select
		path, process, sum(syncs) as syncs, sum(writes) as writes, sum(bytes) as bytes, sum(seconds) as seconds,
		sum(greatest(0, seconds - longest - bytes * coalesce(s.per_byte, 0))) as lost
	from each left join store_costs() as s on s.file = each.file and s.kind = 'write'
	group by path, process
),
example as (
	select p.place as path, max_by(c.id, c.duration, 8) as calls
	from calls as c join places() as p using (file)
	where c.kind = 'sync' and c.layer = 'posix' and c.file in (select file from each)
	group by p.place
)
select
	path,
	sum(syncs)::hugeint as syncs,
	sum(writes)::hugeint as writes,
	sum(bytes) / sum(writes) as size,
	if(count(*) = 1, 'one process', format('{} processes', count(*))) as who,
	max(seconds) as seconds,
	any_value(calls) as calls,
	max(lost) as lost
from process left join example using (path)
group by path
