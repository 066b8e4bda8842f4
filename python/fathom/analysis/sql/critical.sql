-- Which process or server was critical when, as the agent wrote it. Times in ns unless a name says seconds.

-- From when another process or server became critical until the next did: `phase` (its number), start, stop,
-- process (null: only a server was), server (its process).
create or replace macro critical_spans() as table
with server_process as (from server_processes()),
turn as (
	select process, time as start, value, lead(time) over (partition by process order by time) as stop
	from (select process, time, value, lag(value, 1, 0) over (partition by process order by time) as before from samples where what = 'critical')
	where value <> before
),
span as (
	select t.process, t.start, coalesce(t.stop, p.stop) as stop, p.process in (select process from server_process) as serves
	from turn as t join processes as p using (process)
	where t.value = 1
),
cut as (
	select start, lead(start) over (order by start) as next from (select distinct start from span)
)
select
	(row_number() over (order by c.start) - 1)::integer as phase, c.start,
	least(coalesce(c.next, max(s.stop)), max(s.stop)) as stop,
	any_value(s.process) filter (not s.serves) as process, any_value(s.process) filter (s.serves) as server
from cut as c join span as s on s.start <= c.start and c.start < s.stop
group by c.start, c.next;

-- One row for each phase: who was critical, why, and how much of the phase its I/O took.
create or replace macro critical_phases() as table
with phase as (from critical_spans()),
server_process as (from server_processes()),
io as (
	select p.phase, count(*) as calls, sum(least(c.start + c.duration, p.stop) - c.start) as time
	from phase as p join calls as c on c.process = p.process and c.start >= p.start and c.start < p.stop
	where c.parent is null and c.layer <> 'fathom'
	group by p.phase
)
select
	p.phase, p.start / 1e9 as start_seconds, (p.stop - p.start) / 1e9 as seconds, r.rank, r.pid, r.host, s.server,
	p.process, p.server as server_process,
	coalesce(io.calls, 0) as calls, coalesce(io.time, 0) / 1e9 as io_seconds, coalesce(io.time, 0) / (p.stop - p.start) as share,
	(
		select string_agg(m.detail, '; ' order by m.time) from marks as m
		where m.kind = 'critical' and m.time < p.start and m.time >= coalesce((select max(before.start) from phase as before where before.start < p.start), m.time)
	) as why
from phase as p
	left join (select process, rank, pid, host from processes join nodes using (node)) as r using (process)
	left join server_process as s on s.process = p.server
	left join io using (phase)
order by p.phase;

-- The critical process's calls of each phase, by what they were made inside, down to what servers did for them: where the
-- server was recorded in full, as the slowest one is. Cut at the phase's end. $known: there are phases; without, no call is looked at.
create or replace macro critical_path(known := true) as table
with recursive phase as (from critical_spans()),
server_process as (from server_processes()),
step as (
	select p.phase, p.stop, c.id, c.layer, c.op, c.start, c.duration, c.bytes, 0 as depth, c.op as steps
	from phase as p join calls as c on c.process = p.process and c.start >= p.start and c.start < p.stop
	where known and c.parent is null and c.layer <> 'fathom'
	union all
	select s.phase, s.stop, c.id, c.layer, c.op, c.start, c.duration, c.bytes, s.depth + 1, s.steps || ' > ' || c.op
	from step as s join calls as c on c.parent = s.id
	where known and c.layer <> 'fathom'
),
work as (
	select
		s.phase, s.stop, c.layer, c.op, c.start, c.duration, l.bytes, s.depth + if(c.layer = 'disk', 2, 1) as depth,
		s.steps || ' > ' || p.server || if(c.layer = 'disk', ' > ', ': ') || c.op as steps
	from step as s
		join links as l on l.to_call = s.id and l.kind in ('serves', 'carries')
		join calls as c on known and c.id = l.from_call and c.layer in ('server', 'disk')
		join server_process as p on p.process = c.process
),
every as (
	select phase, stop, layer, op, start, duration, bytes, depth, steps from step
	union all
	from work
),
each as (
	select
		phase, any_value(r.rank) as rank, e.steps, any_value(e.layer) as layer, any_value(e.op) as function, any_value(e.depth)::integer as depth,
		count(*) as calls, coalesce(sum(e.bytes), 0) as bytes,
		sum(greatest(0, least(e.start + e.duration, p.stop) - e.start)) / 1e9 as seconds,
		sum(greatest(0, least(e.start + e.duration, p.stop) - e.start)) / any_value(p.stop - p.start) as share
	from every as e join phase as p using (phase) left join processes as r on r.process = p.process
	group by phase, e.steps
),
prefix as (
	select phase, steps, unnest(range(1, len(parts) + 1)) as place, array_to_string(parts[:place], ' > ') as prefix
	from (select phase, steps, string_split(steps, ' > ') as parts from each)
),
-- The longest way first, what is inside a call behind it.
way as (
	select p.phase, p.steps, list({spent: -coalesce(e.seconds, 0), steps: p.prefix} order by p.place) as way
	from prefix as p left join each as e on e.phase = p.phase and e.steps = p.prefix
	group by p.phase, p.steps
)
select each.* from each join way using (phase, steps) order by phase, way.way;
