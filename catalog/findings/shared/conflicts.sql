-- Pairs of accesses of different processes to the same bytes, at least one a write, and the weakest semantics under which their order still holds.
--
-- Accesses: the program's own of POSIX and C streams, and MPI-IO's whose view has no holes (what ROMIO does below one is its own affair, and is
-- not looked at in files that MPI-IO moved data of). Bytes that two processes touch, one of them writing, are found by a sweep over each process's
-- merged extents: +1 where a process begins to touch, -1 where it ends. Only accesses to those bytes are then compared one by one:
-- 64 stretches of a file, in each the first 8 reads and 8 writes of a process, 64 in all.
--
-- Order: a recorded barrier (or another operation in which every rank waits for all) of the whole job, entered by the one after its access, left by
-- the other before its own: by each rank's own clock. Where processes could also talk in ways that were not recorded (`talk`), whatever
-- was not seen to run at once may have been ordered. Two run at once when they overlap by more than the clocks' error; null error: not claimed.
--
-- level, from what asks least of a program to what asks most:
--	none      not ordered: no semantics say what is read or left in the file
--	posix     ordered, but the writer did not sync or close in between: holds only where a write is seen at once
--	commit    the writer synced or closed in between
--	mpi       both by MPI-IO: sync or close at the writer, then open or sync at the other (MPI 4.0, 14.6.1)
--	session   the writer closed, then the other opened
-- Columns: file, begins, ends (bytes of the overlap), wrote (`write` and `read` or `write`: what came second), first, second (`calls.id`),
-- a, b (processes), at_once, talk, level.
with region as (
	select id from calls where layer in ('user', 'threads')
),
by_mpi as (
	select distinct file from counters where layer = 'mpiio' and kind in ('read', 'write') and file is not null
),
holes as (
	select selection from selections where not exact or blocks <> 1 or (period <> 0 and period <> total)
),
several as (
	select file from counters where kind in ('read', 'write') and file is not null group by file having count(distinct process) > 1
),
access as (
	select id, process, file, layer, file_offset as begins, file_offset + bytes as ends, kind = 'write' as wrote, start, start + duration as stop
	from calls
	where kind in ('read', 'write') and bytes > 0 and error = 0 and state = 'done' and file_offset is not null and file in (from several)
		and (layer in ('posix', 'stdio') and (depth = 0 or parent in (from region) or file not in (from by_mpi))
			or layer = 'mpiio' and (selection is null or selection not in (from holes)))
),
-- Files in which the processes' whole ranges meet, and one writes.
hull as (
	select file, process, min(begins) as begins, max(ends) as ends, bool_or(wrote) as wrote from access group by file, process
),
met as (
	select *, begins < max(ends) over (partition by file order by begins rows between unbounded preceding and 1 preceding) as meets from hull
),
crossing as materialized (
	select file from met group by file having bool_or(meets) and bool_or(wrote)
),
-- Accesses that overlap any other, their own process's too: sorted by where they begin, one of the earlier ends behind that, or the next
-- begins before its end. Of a file at most the first 2 million of them by place. All that follows is only about these.
overlapping as materialized (
	select id
	from (
		select
			id, ends > lead(begins) over along or begins < max(ends) over before as meets, row_number() over along as number
		from access semi join crossing using (file)
		window
			along as (partition by file order by begins, id),
			before as (partition by file order by begins, id rows between unbounded preceding and 1 preceding)
	)
	where meets and number <= 2000000
),
suspect as materialized (
	select * from access semi join overlapping using (id)
),
extent as (
	select file, process, false as written, begins, ends from suspect
	union all
	select file, process, true, begins, ends from suspect where wrote
),
marked as (
	select *, coalesce(begins > max(ends) over before, true) as fresh
	from extent
	window before as (partition by file, process, written order by begins rows between unbounded preceding and 1 preceding)
),
numbered as (
	select *, sum(fresh::int) over (partition by file, process, written order by begins rows unbounded preceding) as island from marked
),
merged as (
	select file, written, min(begins) as begins, max(ends) as ends from numbered group by file, process, written, island
),
step as (
	select file, begins as place, (not written)::int as touching, written::int as writing from merged
	union all
	select file, ends, -(not written)::int, -written::int from merged
),
level as (
	select file, place, sum(touching) as touching, sum(writing) as writing from step group by file, place
),
segment as (
	select
		file, place as begins, lead(place) over along as ends, sum(touching) over along as touching, sum(writing) over along as writing
	from level
	window along as (partition by file order by place)
),
clash as (
	select *, coalesce(begins > lag(ends) over (partition by file order by begins), true) as fresh
	from segment
	where touching >= 2 and writing >= 1
),
stretch as (
	select file, min(begins) as begins, max(ends) as ends, max(touching) as touching
	from (select *, sum(fresh::int) over (partition by file order by begins rows unbounded preceding) as number from clash)
	group by file, number
),
chosen_stretch as materialized (
	select file, begins, ends from stretch qualify row_number() over (partition by file order by touching desc, begins) <= 64
),
near as (
	select a.*, s.begins as stretch
	from suspect as a asof join chosen_stretch as s on a.file = s.file and a.ends > s.begins
	where s.ends > a.begins
),
nth as (
	select *, row_number() over (partition by file, stretch, process, wrote order by start, id) as nth from near
),
candidate as materialized (
	select * from nth where nth <= 8 qualify row_number() over (partition by file, stretch order by nth, start, id) <= 64
),
-- Operations of the whole job in which all wait for all, in the order that each process made them.
meeting as (
	select c.process, c.start as entered, c.start + c.duration as was_left
	from calls as c join objects as o using (object)
	where o.communicator_size = (select ranks from runs) and c.error = 0 and c.state = 'done'
		and (c.layer = 'mpi' and regexp_full_match(c.op, 'MPI_(Barrier|Allreduce|Allgatherv?|Alltoall[vw]?|Reduce_scatter(_block)?|Comm_(dup|split|create))')
			or c.layer = 'mpiio' and c.op = 'MPI_File_open')
),
counted as (
	select process, entered, was_left, row_number() over (partition by process order by entered) as number from meeting
),
-- Ways to be ordered that are not known: processes that are no ranks, messages and groups that were counted only or are no such
-- meetings, collective I/O that may wait, locks, and meetings of which some are missing.
talk as (
	select
		exists (select 1 from suspect join processes as p using (process) where p.rank is null)
		or exists (
			select 1 from counters as c
			where c.layer = 'mpi' and c.enclosing_layer is distinct from 'mpiio' and (c.recorded < c.calls
				or not regexp_full_match(c.op, 'MPI_(Init.*|Finalize|Barrier|Allreduce|Allgatherv?|Alltoall[vw]?|Reduce_scatter(_block)?|Comm_(dup|split|create|free))'))
		)
		or exists (select 1 from calls as c join objects as o using (object) where c.layer = 'mpi' and o.communicator_size < (select ranks from runs))
		or exists (select 1 from counters as c join ops as o using (layer, op) where c.layer = 'mpiio' and o.collective and c.op <> 'MPI_File_open')
		or exists (select 1 from counters where op in ('flock', 'lockf') or layer = 'posix' and op = 'fcntl' and enclosing_layer is distinct from 'mpiio')
		or (select count(distinct most) > 1 from (select p.process, max(number) as most from processes as p left join counted using (process) where p.rank is not null group by p.process))
		as talk
),
-- What makes writes seen, and what makes a process look again. A process that ends closes its files.
turn as (
	select
		process, file, start, start + duration as stop, kind,
		kind = 'close' or kind = 'sync' and op <> 'fflush' as commits,
		layer = 'mpiio' and kind in ('close', 'sync') as lets_go,
		layer = 'mpiio' and kind in ('open', 'sync') as looks
	from calls semi join crossing using (file)
	where kind in ('open', 'close', 'sync') and error = 0
	union all
	select process, s.file, p.stop, p.stop, 'close', true, false, false
	from (select distinct process, file from suspect) as s join processes as p using (process)
	where p.ended <> 'open'
),
release as (
	select
		c.id,
		min(t.stop) filter (t.commits) as committed,
		min(t.stop) filter (t.kind = 'close') as closed,
		min(t.stop) filter (t.lets_go) as let_go
	from candidate as c join turn as t on t.process = c.process and t.file = c.file and t.start >= c.stop
	group by c.id
),
acquire as (
	select c.id, max(t.start) filter (t.kind = 'open') as opened, max(t.start) filter (t.looks) as looked
	from candidate as c join turn as t on t.process = c.process and t.file = c.file and t.stop <= c.start
	group by c.id
),
pair as (
	select
		x.file, greatest(x.begins, y.begins) as begins, least(x.ends, y.ends) as ends,
		if(x.wrote, 'write', 'read') as did, if(y.wrote, 'write', 'read') as did_then,
		x.id as first, y.id as second, x.process as a, y.process as b, x.wrote, x.layer = 'mpiio' and y.layer = 'mpiio' as both_mpi,
		x.start as x_start, x.stop as x_stop, y.start as y_start, y.stop as y_stop
	from candidate as x join candidate as y on x.file = y.file and x.process <> y.process and x.begins < y.ends and y.begins < x.ends
		and (x.wrote or y.wrote) and (x.start, x.id) < (y.start, y.id)
),
-- Each time in it as the number of meetings that were entered before it (of the first) or left (of the second).
moment as (
	select distinct unnest([first, first, first, first]) as id, a as process, unnest([x_stop, committed, closed, let_go]) as at_time
	from pair left join release on release.id = pair.first
	union
	select distinct unnest([second, second, second]), b, unnest([y_start, opened, looked])
	from pair left join acquire on acquire.id = pair.second
),
number as (
	select
		m.process, m.at_time,
		count(*) filter (c.entered < m.at_time) as entered,
		count(*) filter (c.was_left <= m.at_time) as was_left
	from (select distinct process, at_time from moment where at_time is not null) as m left join counted as c using (process)
	group by m.process, m.at_time
),
error as (
	select a.process as a, b.process as b, if(a.clock = b.clock, k.error_local, k.error + l.error) as error
	from processes as a cross join processes as b join clocks as k on k.clock = a.clock join clocks as l on l.clock = b.clock
	where a.process in (select a from pair) and b.process in (select b from pair)
),
known as (
	select
		p.*, talk.talk,
		coalesce(p.x_stop - e.error > p.y_start and p.y_stop - e.error > p.x_start, false) as at_once,
		-- May the first time have come before the second one?
		if(talk.talk, coalesce(p.x_stop - e.error <= p.y_start, true), y.was_left > x.entered) as ordered,
		if(talk.talk, coalesce(r.committed - e.error <= p.y_start, r.committed is not null), y.was_left > c.entered) as committed,
		if(talk.talk, coalesce(r.closed - e.error <= q.opened, r.closed is not null and q.opened is not null), o.was_left > d.entered) as closed,
		if(talk.talk, coalesce(r.let_go - e.error <= q.looked, r.let_go is not null and q.looked is not null), l.was_left > g.entered) as let_go
	from pair as p
	cross join talk
	left join error as e using (a, b)
	left join release as r on r.id = p.first
	left join acquire as q on q.id = p.second
	left join number as x on x.process = p.a and x.at_time = p.x_stop
	left join number as c on c.process = p.a and c.at_time = r.committed
	left join number as d on d.process = p.a and d.at_time = r.closed
	left join number as g on g.process = p.a and g.at_time = r.let_go
	left join number as y on y.process = p.b and y.at_time = p.y_start
	left join number as o on o.process = p.b and o.at_time = q.opened
	left join number as l on l.process = p.b and l.at_time = q.looked
)
select
	file, begins, ends, did, did_then, first, second, a, b, at_once, talk,
	case
		when at_once or not ordered then 'none'
		when not wrote then 'session'
		when coalesce(closed, false) then 'session'
		when both_mpi and coalesce(let_go, false) then 'mpi'
		when coalesce(committed, false) then 'commit'
		else 'posix'
	end as level
from known
