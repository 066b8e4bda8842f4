-- title:  A sync after every few writes
-- layer:  posix
-- limit:  a process synced a file or a directory 8 times or more, with at most 4 writes for each sync. Where it is open with O_SYNC or O_DSYNC each
--   write is one. Files that are alike count together where their writes are below 64 KiB
-- says:   {path}: {syncs:count} syncs by {who}[ for {writes:count} writes of {size:size} on average]{small}; {seconds:seconds} in syncs of the
--   slowest{counted}[, {journal:percent} of it while a journal was committed]
-- lost:   syncs of the slowest process, less each file's longest and the time of its bytes at the rate of writes. Of files that are alike one
--   longest is left for all
-- sure:   0.8
-- fix:    sync once, when what was written is complete (a database: one transaction for many changes). For data that must be safe at once, larger
--   records or a log of its own[. {opened}]
-- needs:  counters
-- causes: sync, requests
-- when:   exists (from counters where layer = 'posix' and kind = 'sync') or exists (from synced_by_open())
-- seen:   Carns et al. 2011 (Darshan counts them)
with synced as (
	select
		coalesce(p.place, f.path) as path, coalesce(p.directory, f.path) as directory, file, c.process,
		any_value(o.file) is not null as by_open,
		coalesce(sum(c.calls - c.errors) filter (c.kind = 'sync' or c.file = o.file), 0) as syncs,
		coalesce(sum(c.calls - c.errors) filter (c.kind = 'write'), 0) as writes,
		coalesce(sum(c.bytes) filter (c.kind = 'write'), 0) as bytes,
		coalesce(sum(c.time) filter (c.kind = 'sync'), 0) = 0 as silent,
		coalesce(max(c.longest) filter (c.kind = 'sync'), 0) / 1e9 as longest
	from counters as c join files as f using (file) left join places() as p using (file) left join synced_by_open() as o using (file)
	where c.layer = 'posix' and c.kind in ('sync', 'write') and (p.file is not null or f.kind = 'directory')
	group by p.place, p.directory, f.path, file, c.process
	having syncs > 0 and writes <= 4 * syncs
),
each as (
	select *
	from synced
	window alike as (partition by path, process)
	qualify syncs >= 8 or sum(syncs) over alike >= 8 and sum(bytes) over alike < 65536 * sum(writes) over alike
),
spent as (
	from account_syncs() where layer = 'posix'
),
process as (
	select
		directory, process, list_distinct(list(path)) as paths, list(file) as files, bool_or(by_open) as by_open,
		sum(syncs) as syncs, sum(writes) as writes, sum(bytes) as bytes,
		sum(seconds) as seconds, bool_or(silent) as silent,
		sum(greatest(0, seconds - if(syncs >= 8, greatest(longest, seconds / syncs), 0) - bytes * coalesce(r.per_byte, 0)))
			- coalesce(max(longest) filter (syncs < 8), 0) as lost
	from each join spent using (process, file) left join account_references() as r on r.file = each.file and r.kind = 'write'
	group by directory, process
),
committed as (
	select e.directory, nullif(sum(k.journal_time)::double, 0) / sum(k.duration) as journal
	from kernel_calls() as k join each as e using (process, file)
	where k.kind = 'sync'
	group by e.directory
),
example as (
	select e.directory, max_by(c.id, c.duration, 8) as calls
	from calls as c join (select distinct directory, file, by_open from each) as e using (file)
	where (c.kind = 'sync' or c.kind = 'write' and e.by_open) and c.layer = 'posix'
	group by e.directory
)
select
	list_distinct(flatten(list(paths))) as places,
	if(len(places) = 1, places[1], directory) as path,
	list_distinct(flatten(list(files))) as cell_files,
	'posix' as cell_layer,
	'write' as cell_way,
	sum(syncs)::hugeint as syncs,
	nullif(sum(writes), 0)::hugeint as writes,
	sum(bytes) / nullif(sum(writes), 0) as size,
	if(sum(bytes) < 65536 * sum(writes), ', which are small', '') as small,
	if(count(*) = 1, 'one process', format('{} processes', count(*))) as who,
	max(seconds) as seconds,
	case when bool_or(by_open) then ', that is in its writes' when bool_or(silent) then ', as the log has them in its writes' else '' end as counted,
	if(bool_or(by_open), 'Open the file without O_SYNC and O_DSYNC', null) as opened,
	any_value(calls) as calls,
	any_value(journal) as journal,
	max(lost) as lost
from process left join example using (directory) left join committed using (directory)
group by directory
having max(lost) > 0
