-- title:  A sync after every few writes
-- layer:  posix
-- limit:  a process synced a file 8 times or more, with at most 4 writes for each sync
-- says:   {path}: {syncs:count} syncs by {who} for {writes:count} writes of {size:size} on average{small}; {seconds:seconds} in syncs of the slowest{counted}
-- lost:   syncs of the slowest process, but for each file's longest and the time of its bytes at the rate of writes
-- sure:   0.8
-- fix:    sync once, when what was written is complete; for data that must be safe at once, larger records or a log of its own
-- needs:  counters
-- causes: sync, requests
-- seen:   Carns et al. 2011 (Darshan counts them)
with each as (
	select
		p.place as path, p.file, c.process,
		sum(c.calls - c.errors) filter (c.kind = 'sync') as syncs,
		sum(c.calls - c.errors) filter (c.kind = 'write') as writes,
		sum(c.bytes) filter (c.kind = 'write') as bytes,
		sum(c.time) filter (c.kind = 'sync') = 0 as silent,
		coalesce(max(c.longest) filter (c.kind = 'sync'), 0) / 1e9 as longest
	from counters as c join places() as p using (file)
	where c.layer = 'posix' and c.kind in ('sync', 'write')
	group by p.place, p.file, c.process
	having syncs >= 8 and writes <= 4 * syncs
),
-- A log of Darshan has the seconds of syncs in those of writes.
spent as (
	select process, file, sum(time) / 1e9 as seconds from account() where cause = 'sync' and kind in ('sync', 'write') and layer = 'posix' group by process, file
),
process as (
	select
		path, process, list(file) as files, sum(syncs) as syncs, sum(writes) as writes, sum(bytes) as bytes, sum(seconds) as seconds, bool_or(silent) as silent,
		sum(greatest(0, seconds - greatest(longest, seconds / syncs) - bytes * coalesce(r.per_byte, 0))) as lost
	from each join spent using (process, file) left join account_references() as r on r.file = each.file and r.kind = 'write'
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
	list_distinct(flatten(list(files))) as cell_files,
	'write' as cell_way,
	sum(syncs)::hugeint as syncs,
	sum(writes)::hugeint as writes,
	sum(bytes) / sum(writes) as size,
	if(sum(bytes) < 65536 * sum(writes), ', which are small', '') as small,
	if(count(*) = 1, 'one process', format('{} processes', count(*))) as who,
	max(seconds) as seconds,
	if(bool_or(silent), ', as the log has them in its writes', '') as counted,
	any_value(calls) as calls,
	max(lost) as lost
from process left join example using (path)
group by path
