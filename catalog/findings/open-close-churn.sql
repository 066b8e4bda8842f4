-- title:  A file is opened and closed again and again
-- layer:  posix
-- limit:  one process opened a file 4 times or more: to make it, read it back and append once are 3 good reasons
-- says:   {path}: opened {opens:count} times by {who}; {seconds:seconds} in opens and closes of the slowest
-- lost:   opens and closes of the slowest process, but for the longest ones of each file
-- sure:   0.9
-- fix:    open once, keep the descriptor or stream until the last use
-- needs:  counters
-- causes: names, sync
-- seen:   Carns et al. 2011 (Darshan)
with each as (
	select
		p.place as path, p.file, c.process, sum(c.calls - c.errors) filter (c.kind = 'open') as opens, sum(c.time) / 1e9 as seconds,
		sum(c.time - c.longest) / 1e9 as lost
	from counters as c join places() as p using (file)
	where c.layer in ('posix', 'stdio') and c.kind in ('open', 'close')
	group by p.place, p.file, c.process
	having opens >= 4
),
process as (
	select
		path, process, sum(opens) as opens, max(opens) as times, sum(seconds) as seconds, sum(lost) as lost,
		list(file) as files
	from each
	group by path, process
),
example as (
	select p.place as path, max_by(c.id, c.duration, 8) as calls
	from calls as c join places() as p using (file)
	where c.kind = 'open' and c.layer in ('posix', 'stdio') and c.file in (select file from each)
	group by p.place
)
select
	path,
	sum(opens)::hugeint as opens,
	if(count(*) = 1, 'one process', format('{} processes, {:.0f} times a file by one of them', count(*), max(times)::double)) as who,
	max(seconds) as seconds,
	any_value(calls) as calls,
	max(lost) as lost
from process left join example using (path)
group by path
