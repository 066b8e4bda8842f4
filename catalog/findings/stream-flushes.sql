-- title:  A C stream is flushed after every few writes
-- layer:  stdio
-- limit:  a process flushed files that are alike 64 times or more. What it wrote between two is less than half a page: the stream's buffer would
--   have gathered it
-- says:   {path}: {flushes:count} flushes by {who} for {writes:count} writes of {size:size} on average; {seconds:seconds} in flushes of the
--   slowest{counted}
-- lost:   flushes of the slowest process, without its longest, but for as many as pages were written: so often the buffer is full
-- sure:   0.9
-- fix:    flush where somebody waits for it, or once a second, not after each line. What must not be lost when the program fails is flushed when it
--   is complete
-- needs:  counters
-- causes: sync
-- seen:   Fortran's and C++'s users' reports: flush() and std::endl in a loop
with flushed as (
	select
		p.place as path, c.process, file,
		coalesce(sum(c.calls - c.errors) filter (c.kind = 'sync'), 0) as flushes,
		coalesce(sum(c.calls - c.errors) filter (c.kind = 'write'), 0) as writes,
		coalesce(sum(c.bytes) filter (c.kind = 'write'), 0) as bytes,
		coalesce(sum(c.time) filter (c.kind = 'sync'), 0) = 0 as silent,
		coalesce(max(c.longest) filter (c.kind = 'sync'), 0) / 1e9 as longest
	from counters as c join places() as p using (file)
	where c.layer = 'stdio' and c.kind in ('sync', 'write')
	group by p.place, c.process, file
	having writes > 0 and bytes < 2048 * flushes
),
spent as (
	from account_syncs() where layer = 'stdio'
),
process as (
	select
		path, process, list(file) as files, sum(flushes) as flushes, sum(writes) as writes, sum(bytes) as bytes, bool_or(silent) as silent,
		sum(seconds) as seconds, max(longest) as longest
	from flushed join spent using (process, file)
	group by path, process
	having sum(flushes) >= 64
),
example as (
	select p.place as path, max_by(c.id, c.duration, 8) as calls
	from calls as c join places() as p using (file)
	where c.layer = 'stdio' and c.kind = 'sync' and p.place in (select path from process)
	group by p.place
)
select
	path,
	flatten(list(files)) as cell_files,
	'stdio' as cell_layer,
	'write' as cell_way,
	sum(flushes)::hugeint as flushes,
	sum(writes)::hugeint as writes,
	sum(bytes) / sum(writes) as size,
	if(count(*) = 1, 'one process', format('{} processes', count(*))) as who,
	max(seconds) as seconds,
	if(bool_or(silent), ', as the log has them in its writes', '') as counted,
	coalesce(any_value(calls), []) as calls,
	max((seconds - longest) * (1 - bytes / 4096 / flushes)) as lost
from process left join example using (path)
group by path
