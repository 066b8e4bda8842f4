-- Pairs of accesses of different processes to the same bytes, at least one a write, and the weakest semantics under which their order still
-- holds. They are `overlaps`: found by `contended`, `meeting_cells`, `suspects`, `clashes` and `clashing`, each of less than the one before.
--
-- Order: a recorded barrier (or another of `meetings`), entered by the one after its access, left by
-- the other before its own: by each rank's own clock. Where processes could also talk in ways that were not recorded (`talk`), whatever
-- was not seen to run at once may have been ordered. Two run at once when they overlap by more than the clocks' error; null error: not claimed.
--
-- level, from what asks least of a program to what asks most:
--	none      not ordered: no semantics say what is read or left in the file
--	posix     ordered, but the writer did not sync or close in between: holds only where a write is seen at once
--	commit    the writer synced or closed in between
--	mpi       both by MPI-IO: sync or close at the writer, then open or sync at the other (MPI 4.0, 14.6.1)
--	session   the writer closed, then the other opened
-- Columns: file, begins, ends (bytes of the overlap), did, did_then (`write` or `read`), first, second (`calls.id`),
-- a, b (processes), at_once, talk, level.
with release as (
	select c.id, c.process, c.stop, t.committed, t.closed, t.let_go
	from {clashing} as c
	asof left join {turns} as t on t.process = c.process and t.file = c.file and c.stop <= t.start
),
acquire as (
	select c.id, c.process, c.start, t.opened, t.looked
	from {clashing} as c
	asof left join {turns} as t on t.process = c.process and t.file = c.file and c.start >= t.stop
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
	asof left join {meetings} as e on e.process = m.process and m.at_time > e.entered
	asof left join {meetings} as l on l.process = m.process and m.at_time >= l.was_left
),
error as (
	select a.process as a, b.process as b, if(a.clock = b.clock, k.error_local, k.error + l.error) as error
	from processes as a cross join processes as b join clocks as k on k.clock = a.clock join clocks as l on l.clock = b.clock
	where a.process in (select a from {overlaps}) and b.process in (select b from {overlaps})
		-- Recorder's ranks have a clock each, which nothing compares.
		and not exists (select 1 from marks where kind = 'recorder')
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
	from {overlaps} as p
	cross join {talk} as talk
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
