-- title:  Many files: more time with names than they are worth
-- layer:  posix
-- limit:  a process handles 16 files or more whose names differ by numbers; fewer are usual
-- says:   {path}: {files:count} files, {calls_made:count} opens, closes, stats, removals and the like by {who}; {names:seconds} of the slowest[,
--   and {apart:seconds} for {accesses:count} accesses that are small because the files are]
-- lost:   that time of the slowest process, less its longest call and one file's share of the rest. Of a file that it opens again and again
--   one open's share: the rest is open-close-churn's. And its small accesses, those of each file joined (small_accesses()), less the same
--   bytes in large pieces of one file
-- sure:   0.7
-- fix:    one file for many records (a container[hdf5: , a dataset][netcdf|pnetcdf: , a variable]), opened once. Look names up once, not before each use
-- needs:  counters
-- causes: names, requests
-- when:   (select count(*) from files) >= 16
-- seen:   Chang, Jin, Bauer 2016 (ATHENA-C); Carns et al. 2011 (Darshan)
with folder as (
	-- Of a name that is not opened nothing else says what it is.
	select file from counters where op in ('mkdir', 'mkdirat', 'rmdir', 'chdir') and calls > errors and file is not null
),
alike as (
	select
		p.directory, p.place as path, c.process, list(distinct hash(p.path)) filter (c.calls > c.errors) as names, len(names) as files,
		list_distinct(list(p.file)) as numbers, greatest(sum(c.calls - c.errors) filter (c.kind = 'open') / files, 1) as times,
		sum(c.calls) as n, sum(c.time) / 1e9 as seconds, max(c.longest) / 1e9 as longest
	from counters as c join places() as p using (file)
	where c.layer in ('posix', 'stdio') and c.kind in ('open', 'close', 'meta')
		and c.op not in ('fcntl', 'flock', 'lockf', 'ioctl', 'ftruncate', 'fallocate', 'posix_fallocate', 'posix_fadvise', 'readahead', 'dup', 'dup2', 'dup3')
		and p.file not in (from folder)
	group by p.directory, p.place, c.process
	having files >= 16
),
-- What is one access of each file would be one of many files.
small as (
	select path, process, sum(n) as n, sum(lost) as lost
	from (
		select path, process, what, sum(least) as n, sum(latency * least) - max(latency) * ceil(sum(bytes) / max(piece)) as lost
		from small_accesses()
		group by path, process, what
	)
	where lost > 0
	group by path, process
),
-- Several groups of names of one directory are one mistake.
process as (
	select
		a.directory, a.process, list(a.path) as paths, flatten(list(a.numbers)) as numbers, flatten(list(a.names)) as names, sum(a.n) as n,
		sum(a.seconds) as seconds, sum(s.lost) as apart, sum(s.n) as accesses,
		sum((a.seconds - a.longest) / a.times * (1 - 1 / a.files) + coalesce(s.lost, 0)) as lost
	from alike as a left join small as s using (path, process)
	group by a.directory, a.process
),
example as (
	select p.directory, max_by(c.id, c.duration, 8) as calls
	from calls as c join places() as p using (file)
	where c.kind in ('open', 'meta') and c.layer in ('posix', 'stdio') and p.place in (select path from alike)
	group by p.directory
)
select
	list_distinct(flatten(list(paths))) as places,
	if(len(places) = 1, places[1], directory) as path,
	list_distinct(flatten(list(numbers))) as cell_files,
	len(list_distinct(flatten(list(names))))::bigint as files,
	sum(n)::hugeint as calls_made,
	if(count(*) = 1, 'one process', format('{} processes', count(*))) as who,
	max(seconds) as names,
	nullif(max(apart), 0) as apart,
	sum(accesses)::hugeint as accesses,
	any_value(calls) as calls,
	max(lost) as lost
from process left join example using (directory)
group by directory
