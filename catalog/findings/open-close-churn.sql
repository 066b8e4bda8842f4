-- title:  A file is opened and closed again and again
-- layer:  posix
-- limit:  one process opened a name 4 times or more; files that it made anew under that name count together. To make it, read it back and
--   append once are 3 good reasons
-- says:   {path}: opened {opens:count} times[ and removed {removed:count} times] by {who}; {seconds:seconds} in opens, closes and removals of the slowest
-- lost:   opens, closes and removals of the slowest process, but for the longest ones of each name. Darshan has them with seeks and
--   stats in one sum
-- sure:   0.9
-- fix:    open once, keep the descriptor or stream until the last use{remade}
-- needs:  counters
-- causes: names, sync
-- when:   exists (select f.path from counters as c join files as f using (file) where c.layer in ('posix', 'stdio') and c.kind = 'open' group by
--   f.path, c.process having sum(c.calls - c.errors) >= 4)
-- seen:   Carns et al. 2011 (Darshan)
with op as (
	select
		p.place as path, p.path as name, c.process, c.kind, list(distinct p.file) as files, sum(c.calls - c.errors) as calls, sum(c.time) / 1e9 as seconds,
		c.op = 'metadata' as is_sum, (sum(c.time) - if(is_sum, sum(c.time) / nullif(sum(c.calls), 0), max(c.longest))) / 1e9 as lost
	from counters as c join places() as p using (file)
	where c.layer in ('posix', 'stdio') and (c.kind in ('open', 'close') or c.op in ('unlink', 'unlinkat', 'remove', 'metadata'))
	group by p.place, p.path, c.process, c.kind, c.layer, c.op, c.enclosing_layer, c.enclosing, c.thread_class
),
each as (
	select
		path, name, process, list_distinct(flatten(list(files))) as files, sum(calls) filter (kind = 'open') as opens,
		sum(calls) filter (kind = 'meta' and not is_sum) as removed, sum(seconds) as seconds, sum(lost) as lost
	from op
	group by path, name, process
	having opens >= 4
),
process as (
	select
		path, process, sum(opens) as opens, max(opens) as times, sum(removed) as removed, sum(seconds) as seconds, sum(lost) as lost,
		flatten(list(files)) as files
	from each
	group by path, process
),
example as (
	select p.place as path, max_by(c.id, c.duration, 8) as calls
	from calls as c join places() as p using (file)
	where c.kind = 'open' and c.layer in ('posix', 'stdio') and c.file in (select unnest(files) from each)
	group by p.place
)
select
	path,
	list_distinct(flatten(list(files))) as cell_files,
	sum(opens)::hugeint as opens,
	if(count(*) = 1, 'one process', format('{} processes, {:.0f} times a file by one of them', count(*), max(times)::double)) as who,
	if(sum(removed) > sum(opens) / 2, sum(removed), null)::hugeint as removed,
	if(sum(removed) > sum(opens) / 2, '; a file that is made anew each time can be emptied instead (SQLite: pragma journal_mode=wal)', '') as remade,
	max(seconds) as seconds,
	any_value(calls) as calls,
	max(lost) as lost
from process left join example using (path)
group by path
