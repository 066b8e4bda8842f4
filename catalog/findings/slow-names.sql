-- title:  Opens, stats and the like take long
-- layer:  posix
-- limit:  ten and more of one process in one directory of a network's file system take three times what such a store takes at most. Their
--   longest counts for nothing, nor do files that hold opens up, as named pipes do
-- says:   {directory}: {n:count} opens, stats, removals and the like by {who} took {each:seconds} each, {seconds:seconds} of the slowest process. Such a
--   store takes at most {usual:seconds} for one
-- lost:   their time of the slowest process, less as many of the longest usual ones
-- sure:   0.6
-- fix:    look how loaded the file system's server of names is, and how many names the directory has. One rank opens and tells the
--   others[python: ; a package lies in one archive]. What is temporary lies on a disk of the node
-- needs:  counters
-- causes: names
-- when:   exists (from files where is_network(file_system))
-- seen:   Lockwood et al. 2018 (TOKIO); Carns et al. 2011 (Darshan)
with name as (
	select
		p.directory, c.process, c.time, c.longest, on_what(c.layer, c.kind, c.op) as what,
		-- Darshan has one sum of time for all that is done with names.
		c.op = 'metadata' as is_sum, if(c.op = 'metadata', 0, c.calls) as calls,
		case what when 'open' then s.open_high when 'stat' then s.stat_high when 'remove' then s.remove_high else s.create_high end as price
	from counters as c join places() as p using (file) join files as f using (file) join stores() as s on s.store = store_of(f.file_system)
	where c.layer in ('posix', 'stdio') and s.direction = 'read' and (is_sum or what in ('open', 'create', 'stat', 'remove', 'change'))
		and is_network(f.file_system) and (c.process, p.file) not in (select (h.process, h.file) from account_held_up() as h)
),
process as (
	select directory, process, sum(calls) as n, sum(time) / 1e9 as seconds, sum(calls * price) as usual
	from name
	group by directory, process
	having n >= 10 and seconds - coalesce(max(longest), 0) / 1e9 > 3 * sum(calls * price)
)
select
	directory,
	sum(n)::hugeint as n,
	if(count(*) = 1, 'one process', format('{} processes', count(*))) as who,
	sum(seconds) / sum(n) as each,
	sum(usual) / sum(n) as usual,
	max(seconds) as seconds,
	(select list(p.file) from places() as p where p.directory = process.directory) as cell_files,
	(
		select coalesce(max_by(c.id, c.duration, 8), [])
		from calls as c join places() as p using (file)
		where p.directory = process.directory and c.kind in ('open', 'meta') and c.layer in ('posix', 'stdio')
	) as calls,
	max(seconds - usual) as lost
from process
group by directory
