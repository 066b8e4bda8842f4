-- title:  Threads or processes share one file position
-- layer:  posix
-- limit:  threads, or a process and its children, seek on one descriptor and then read or write where it stands. They wait for
--   one another, or touch wrong bytes
-- says:   {path}: {who} seek on one descriptor, {seeks:count} times, and read or write where it stands, {n:count} times{raced}; one after
--   another that took {seconds:seconds}, the slowest alone {own:seconds}
-- lost:   the time in which any was between its seek and the end of its access, less the slowest's accesses. Null where they run
--   side by side already. No cause of the account: threads wait between their calls, too
-- sure:   0.6
-- fix:    pread and pwrite, which take the offset and leave the position alone, without the lock; or a descriptor of its own for each
-- when:   exists (from counters where layer = 'posix' and op = 'lseek') and (select count(*) from streams) > 1
-- seen:   POSIX.1-2017, 2.9.7; Linux 3.14 locks the position for each read and write
with opened as (
	select o.object, o.process, p.parent, o.file, o.descriptor, coalesce(o.inherited, false) as inherited
	from objects as o join processes as p using (process)
	where o.class = 'descriptor' and o.descriptor is not null
),
-- A number that is free is given again: what one open made is one position, and what a child has of it by fork.
forked as (
	select o.object, max(p.object) as opened
	from opened as o join opened as p on p.process = o.parent and p.descriptor = o.descriptor and p.file = o.file
	where o.inherited
	group by o.object
),
position as (
	select
		o.object, o.file,
		-- Of one whose open was not seen: its number.
		if(
			o.inherited, {'of': coalesce(o.parent, o.process), 'opened': coalesce(f.opened, -1 - o.descriptor::bigint)},
			{'of': o.process, 'opened': o.object::bigint}
		) as position
	from opened as o left join forked as f using (object)
),
-- Who asks where it stands moves nothing.
tell as (
	select call as id
	from args
	where name in ('distance', 'whence') and call in (select id from calls where layer = 'posix' and op = 'lseek')
	group by call
	having max(value) filter (name = 'whence') = 1 and coalesce(max(value) filter (name = 'distance'), 0) = 0
),
moving as (
	select
		o.file, o.position, c.id, c.process, c.stream, c.start, c.duration, c.kind = 'seek' as seeks
	from calls as c join position as o using (object)
	where exists (from counters where layer = 'posix' and op = 'lseek' and is_own_access(enclosing_layer, enclosing))
		and c.layer = 'posix' and c.error = 0 and c.op in ('lseek', 'read', 'write', 'readv', 'writev') and is_own_access_call(depth, parent)
		and c.id not in (from tell)
),
several as (
	select file, position from moving where seeks group by file, position having count(distinct stream) > 1
),
placed as (
	select
		*,
		lag(seeks) over own as after_seek,
		lag(start) over own as began,
		lag(stream) over (partition by file, position order by start) as last_by
	from moving semi join several using (file, position)
	window own as (partition by file, position, stream order by start)
),
-- From a seek to the end of the access that it was for.
used as (
	select *, if(after_seek, began, start) as since, start + duration as until from placed where not seeks
),
stretch as (
	select *, greatest(0, until - greatest(since, coalesce(max(until) over before, since))) as added
	from used
	window before as (partition by file, position order by since rows between unbounded preceding and 1 preceding)
),
thread as (
	select
		file, position, process, stream, count(*) as n, count(*) filter (after_seek) as seeks,
		count(*) filter (after_seek and last_by <> stream) as raced, sum(added) / 1e9 as seconds, sum(duration) / 1e9 as own,
		max_by(id, duration, 4) as worst
	from stretch
	group by file, position, process, stream
),
one as (
	select
		file, count(*) as threads, count(distinct process) as processes, sum(n)::hugeint as n, sum(seeks)::hugeint as seeks, sum(raced)::hugeint as races,
		sum(seconds) as seconds, max(own) as own, list_slice(flatten(list(worst)), 1, 8) as calls
	from thread
	where seeks > 0
	group by file, position
)
select
	p.place as path,
	if(processes > 1, format('{} processes', processes), format('{} threads', threads)) as who,
	seeks,
	n,
	if(races > 0, format(', {} of them where another had moved it in between', races), '') as raced,
	seconds,
	own,
	calls,
	if(races > 0 and seconds < 1.1 * own, null, seconds - own) as lost
from one join places() as p using (file)
