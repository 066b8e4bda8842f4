-- Accesses of several processes to the same bytes: found step by step, each of less than the one before. Findings stand on these;
-- each is worked out once for each run.

-- Files in MPI's atomic mode: its calls on them are as if one came after the other (MPI 4.0, 14.6.1).
-- Columns: file.
create or replace macro atomic_files() as table
select distinct c.file from calls as c join args as a on a.call = c.id
where c.op = 'MPI_File_set_atomicity' and a.name = 'flag' and a.value <> 0 and c.file is not null;

-- Files that several processes move data of, one of them writing, and whose ranges meet: what MPI-IO itself orders is left out, its own
-- files too, that no call names (a shared file pointer). Each is cut into cells of equal width: at most 4096, and so many that a process
-- has some 16 accesses in one.
-- Columns: file, begins (first byte moved), width (bytes of a cell).
create or replace macro contended() as table
with several as (
	select file from counters anti join atomic_files() using (file)
	where kind in ('read', 'write') and file is not null
	group by file
	having count(distinct process) > 1 and bool_or(kind = 'write') and bool_or(enclosing_layer is distinct from 'mpiio')
),
span as (
	select file, process, min(begins) as begins, max(ends) as ends, bool_or(wrote) as wrote, count(*) as n
	from byte_ranges() semi join several using (file)
	group by file, process
),
meeting as (
	select *, begins < max(ends) over (partition by file order by begins rows between unbounded preceding and 1 preceding) as meets from span
)
select
	file, min(begins) as begins,
	((max(ends) - min(begins)) // least(4096, greatest(1, sum(n) // (16 * count(*)))) + 1)::bigint as width
from meeting group by file having bool_or(meets) and bool_or(wrote);

-- What each process did to each cell of a contended file. The range of its accesses that begin there meets one of another's, and one of
-- the two wrote. Bounds the work of all that stands on it: of most runs nothing is left out; else cells are taken from the files'
-- begins on until they hold half a million accesses, and of one process in one cell some 65,536, drawn by chance.
-- Columns: file, process, cell, every (one access in so many is looked at).
create or replace macro meeting_cells() as table
with hull as (
	select
		file, process, (a.begins - c.begins) // c.width as cell,
		min(a.begins) as begins, max(ends) as ends, min(a.begins) filter (wrote) as write_begins, max(ends) filter (wrote) as write_ends,
		count(*) as n
	from byte_ranges() as a join contended() as c using (file)
	group by file, process, cell
),
-- By where they begin: an earlier one reaches into this, or a later one begins inside it.
meeting as (
	select
		*,
		max(ends) over before > write_begins or max(write_ends) over before > begins
			or min(begins) over after < write_ends or min(write_begins) over after < ends as meets
	from hull
	window
		before as (partition by file order by begins, process, cell rows between unbounded preceding and 1 preceding),
		after as (partition by file order by begins, process, cell rows between 1 following and unbounded following)
)
select file, process, cell, n // 65536 + 1 as every
from meeting
where meets
qualify coalesce(sum(least(n, 65536)) over (order by cell, file, process rows between unbounded preceding and 1 preceding), 0) < 500000;

-- Accesses that overlap any other, their own process's too, in the cells in which processes meet: sorted by where they begin, one of the
-- earlier ends behind that, or the next begins before its end.
-- Columns: those of `to_bytes`.
create or replace macro suspects() as table
with placed as (
	select a.*, (a.begins - c.begins) // c.width as cell from byte_ranges() as a join contended() as c using (file)
),
candidates as (
	select placed.* exclude (cell) from placed join meeting_cells() as m using (file, process, cell) where every = 1 or hash(id) % every = 0
)
select * from candidates
qualify ends > lead(begins) over (partition by file order by begins, id)
	or begins < max(ends) over (partition by file order by begins, id rows between unbounded preceding and 1 preceding);

-- Stretches of files that two processes touch and at least one writes: by a sweep over each process's merged extents, +1 where
-- a process begins to touch, -1 where it ends. Of a file the 64 that most processes touch.
-- Columns: file, begins, ends.
create or replace macro clashes() as table
with extent as (
	select file, process, false as written, begins, ends from suspects()
	union all
	select file, process, true, begins, ends from suspects() where wrote
),
marked as (
	select *, coalesce(begins > max(ends) over before, true) as fresh
	from extent
	window before as (partition by file, process, written order by begins rows between unbounded preceding and 1 preceding)
),
numbered as (
	select *, sum(fresh::int) over (partition by file, process, written order by begins) as island from marked
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
)
select file, begins, ends from stretch qualify row_number() over (partition by file order by touching desc, begins) <= 64;

-- Accesses to the bytes of `clashes()`, to be compared one by one: of each stretch the first 8 reads and 8 writes of a process, 64 in all.
-- Columns: those of `to_bytes`.
create or replace macro clashing() as table
with candidates as (
	select a.*, s.begins as stretch
	from suspects() as a asof join clashes() as s on a.file = s.file and a.ends > s.begins
	where s.ends > a.begins
),
nth as (
	select *, row_number() over (partition by file, stretch, process, wrote order by start, id) as nth from candidates
)
select * exclude (stretch, nth) from nth where nth <= 8 qualify row_number() over (partition by file, stretch order by nth, start, id) <= 64;

-- Pairs of `clashing()` accesses of different processes to the same bytes, at least one a write; the one that began first is the first.
-- Columns: file, begins, ends (bytes of the overlap), did, did_then (`write` or `read`), first, second (`calls.id`), a, b (processes),
-- wrote (the first did), both_mpi, x_start, x_stop, y_start, y_stop (ns, of the first and the second).
create or replace macro overlapping() as table
select
	x.file, greatest(x.begins, y.begins) as begins, least(x.ends, y.ends) as ends,
	if(x.wrote, 'write', 'read') as did, if(y.wrote, 'write', 'read') as did_then,
	x.id as first, y.id as second, x.process as a, y.process as b, x.wrote, x.layer = 'mpiio' and y.layer = 'mpiio' as both_mpi,
	x.start as x_start, x.stop as x_stop, y.start as y_start, y.stop as y_stop
from clashing() as x join clashing() as y on x.file = y.file and x.process <> y.process and x.begins < y.ends and y.begins < x.ends
	and (x.wrote or y.wrote) and (x.start, x.id) < (y.start, y.id);

-- Operations of the whole job in which all ranks wait for all.
-- Columns: process, entered, was_left (ns), entered_so_far, left_so_far (how many the process had entered and left then, this one too).
create or replace macro meetings() as table
select
	c.process, c.start as entered, c.start + c.duration as was_left,
	count(*) over (partition by c.process order by c.start) as entered_so_far,
	count(*) over (partition by c.process order by c.start + c.duration) as left_so_far
from calls as c join objects as o using (object)
where exists (from overlapping()) and o.communicator_size = (select ranks from runs) and c.error = 0 and c.state = 'done'
	and (c.layer = 'mpi' and regexp_full_match(c.op, 'MPI_(Barrier|Allreduce|Allgatherv?|Alltoall[vw]?|Reduce_scatter(_block)?|Comm_(dup|split|create))')
		or c.layer = 'mpiio' and c.op = 'MPI_File_open');

-- Whether processes could order their accesses in ways that are not known: processes that are no ranks, messages and groups that were
-- counted only or are no `meetings()`, collective I/O that may wait, locks, meetings of which some are missing, and runs of other tools, which
-- record no communicators.
-- Columns: talk.
create or replace macro may_be_ordered() as table
select
	exists (select 1 from suspects() join processes as p using (process) where p.rank is null)
	or exists (
		select 1 from counters as c
		where c.layer = 'mpi' and c.enclosing_layer is distinct from 'mpiio' and (c.recorded < c.calls
			or not regexp_full_match(c.op, 'MPI_(Init.*|Finalize|Barrier|Allreduce|Allgatherv?|Alltoall[vw]?|Reduce_scatter(_block)?|Comm_(dup|split|create|free))'))
	)
	or exists (select 1 from calls as c join objects as o using (object) where c.layer = 'mpi' and o.communicator_size < (select ranks from runs))
	or exists (select 1 from counters as c join ops as o using (layer, op) where c.layer = 'mpiio' and o.collective and c.op <> 'MPI_File_open')
	or exists (select 1 from counters where op in ('flock', 'lockf') or layer = 'posix' and op = 'fcntl' and enclosing_layer is distinct from 'mpiio')
	or (
		select count(distinct most) > 1
		from (select p.process, max(entered_so_far) as most from processes as p left join meetings() using (process) where p.rank is not null group by p.process)
	)
	or exists (select 1 from marks where kind in ('darshan', 'dftracer', 'recorder', 'strace'))
	as talk;

-- What makes writes seen, and what makes a process look again: opens, closes and syncs of files with `clashing()` accesses. A process that
-- ends closes its files.
-- Columns: process, file, start, stop (ns); of those that start then or later the soonest end: committed (a sync or close), closed,
-- let_go (MPI-IO's sync or close); of those that ended by then the last start: opened, looked (MPI-IO's open or sync).
create or replace macro visibility_turns() as table
with turn as (
	select
		process, file, start, start + duration as stop, kind,
		kind = 'close' or kind = 'sync' and op <> 'fflush' as commits,
		layer = 'mpiio' and kind in ('close', 'sync') as lets_go,
		layer = 'mpiio' and kind in ('open', 'sync') as looks
	from calls semi join clashing() using (process, file)
	where kind in ('open', 'close', 'sync') and error = 0
	union all
	select process, s.file, p.stop, p.stop, 'close', true, false, false
	from (select distinct process, file from clashing()) as s join processes as p using (process)
	where p.ended <> 'open'
)
select
	process, file, start, stop,
	min(stop) filter (commits) over later as committed, min(stop) filter (kind = 'close') over later as closed, min(stop) filter (lets_go) over later as let_go,
	max(start) filter (kind = 'open') over earlier as opened, max(start) filter (looks) over earlier as looked
from turn
window later as (partition by process, file order by start desc), earlier as (partition by process, file order by stop);

-- Pairs of accesses of different processes to the same bytes, at least one a write, and the weakest semantics under which their order still
-- holds. They are `overlapping()`: found by `contended()`, `meeting_cells()`, `suspects()`, `clashes()` and `clashing()`, each of less than the one before.
--
-- Order: a recorded barrier (or another of `meetings()`), entered by the one after its access, left by
-- the other before its own: by each rank's own clock. Where processes could also talk in ways that were not recorded (`may_be_ordered()`), whatever
-- was not seen to run at once may have been ordered. Two run at once when they overlap by more than the clocks' error; null error: not claimed.
--
-- level, from what asks least of a program to what asks most:
--	none      not ordered: no semantics say what is read or left in the file
--	posix     ordered, but the writer did not sync or close in between: holds only where a write is seen at once
--	commit    the writer synced or closed in between
--	mpi       both by MPI-IO: sync or close at the writer, then open or sync at the other (MPI 4.0, 14.6.1)
--	session   the writer closed, then the other opened
--	unknown   ordered, but not all opens, closes and syncs of the two are among the recorded calls (logs of Darshan)
-- Columns: file, begins, ends (bytes of the overlap), did, did_then (`write` or `read`), first, second (`calls.id`),
-- a, b (processes), at_once, talk, level.
create or replace macro conflicts() as table
with release as (
	select c.id, c.process, c.stop, t.committed, t.closed, t.let_go
	from clashing() as c
	asof left join visibility_turns() as t on t.process = c.process and t.file = c.file and c.stop <= t.start
),
acquire as (
	select c.id, c.process, c.start, t.opened, t.looked
	from clashing() as c
	asof left join visibility_turns() as t on t.process = c.process and t.file = c.file and c.start >= t.stop
),
-- Each time in them as the number of meetings that were entered before it (of the first) or left by then (of the second).
moment as (
	select distinct process, unnest([stop, committed, closed, let_go]) as at_time from release
	union
	select distinct process, unnest([start, opened, looked]) from acquire
),
number as (
	select m.process, m.at_time, coalesce(e.entered_so_far, 0) as entered, coalesce(l.left_so_far, 0) as was_left
	from (from moment where at_time is not null) as m
	asof left join meetings() as e on e.process = m.process and m.at_time > e.entered
	asof left join meetings() as l on l.process = m.process and m.at_time >= l.was_left
),
error as (
	select a.process as a, b.process as b, if(a.clock = b.clock, k.error_local, k.error + l.error) as error
	from processes as a cross join processes as b join clocks as k on k.clock = a.clock join clocks as l on l.clock = b.clock
	where a.process in (select a from overlapping()) and b.process in (select b from overlapping())
		-- Recorder's ranks have a clock each, which nothing compares.
		and not exists (select 1 from marks where kind = 'recorder')
),
-- One open and no sync: its close came after all accesses.
unseen as (
	select process, file
	from counters semi join clashing() using (process, file)
	where kind in ('open', 'close', 'sync') and op <> 'fflush' and (is_system(layer) or layer = 'mpiio')
	group by process, file, layer
	having sum(recorded) < sum(calls) and (sum(calls) filter (kind = 'open') > 1 or coalesce(sum(calls) filter (kind = 'sync'), 0) > 0)
),
known as (
	select
		p.*, talk.talk, (p.a, p.file) in (from unseen) or (p.b, p.file) in (from unseen) as is_unseen,
		coalesce(p.x_stop - e.error > p.y_start and p.y_stop - e.error > p.x_start, false) as at_once,
		-- May the first time have come before the second one?
		if(talk.talk, coalesce(p.x_stop - e.error <= p.y_start, true), y.was_left > x.entered) as ordered,
		if(talk.talk, coalesce(r.committed - e.error <= p.y_start, r.committed is not null), y.was_left > c.entered) as committed,
		if(talk.talk, coalesce(r.closed - e.error <= q.opened, r.closed is not null and q.opened is not null), o.was_left > d.entered) as closed,
		if(talk.talk, coalesce(r.let_go - e.error <= q.looked, r.let_go is not null and q.looked is not null), l.was_left > g.entered) as let_go
	from overlapping() as p
	cross join may_be_ordered() as talk
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
		when is_unseen then 'unknown'
		when coalesce(closed, false) then 'session'
		when both_mpi and coalesce(let_go, false) then 'mpi'
		when coalesce(committed, false) then 'commit'
		else 'posix'
	end as level
from known;
