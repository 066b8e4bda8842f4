-- title:  Seeks that need not be
-- layer:  posix
-- limit:  100 seeks or more of a process in files that are alike, by the program itself, not by a library below it. And ten for each open:
--   what opens a file may ask a few times how long it is
-- says:   {path}: {seeks:count} seeks by {who} for {n:count} reads and writes; {seconds:seconds} in seeks of the slowest
-- lost:   seeks of the slowest process, but for its longest
-- sure:   0.8
-- fix:    a program knows where it is: count what was read and written[c|cpp: . pread and pwrite take the offset with them][cpp: . tellg, tellp, seekg and
--   seekp ask the system: take blocks apart in memory][python: ; in Python os.pread, or numpy.memmap]
-- needs:  counters
-- causes: requests
-- when:   (select sum(calls) from counters where kind = 'seek' and time > 0) >= 100
-- seen:   users of C++ streams and of Octave's text files: a position is asked for at each number
with process as (
	select
		p.place as path, c.process, list_distinct(list(c.file)) as files, sum(c.calls) filter (c.kind = 'seek') as seeks,
		coalesce(sum(c.calls) filter (c.kind in ('read', 'write')), 0) as n, sum(c.time) filter (c.kind = 'seek') / 1e9 as seconds,
		max(c.longest) filter (c.kind = 'seek') / 1e9 as longest, coalesce(sum(c.calls) filter (c.kind = 'open'), 0) as opens
	from counters as c join places() as p using (file)
	where c.layer in ('posix', 'stdio') and c.kind in ('open', 'seek', 'read', 'write') and is_own_access(c.enclosing_layer, c.enclosing)
	group by p.place, c.process
	having seeks >= greatest(100, 10 * opens) and seconds > 0
),
example as (
	select p.place as path, max_by(c.id, c.duration, 8) as calls
	from calls as c join places() as p using (file)
	where c.layer in ('posix', 'stdio') and c.kind = 'seek' and p.place in (select path from process)
	group by p.place
)
select
	path,
	list_distinct(flatten(list(files))) as cell_files,
	sum(seeks)::hugeint as seeks,
	sum(n)::hugeint as n,
	if(count(*) = 1, 'one process', format('{} processes', count(*))) as who,
	max(seconds) as seconds,
	coalesce(any_value(calls), []) as calls,
	max(seconds - longest) as lost
from process left join example using (path)
group by path
