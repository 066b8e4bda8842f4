-- The program's own I/O calls that a query of `fathom query` is about, and their numbers. Times in ns. lane is `rank` where there is MPI, else
-- `process`. The condition which is about rows `o` of own_calls().

-- The own calls that a query is about; `who` made them: a rank or a process.
create or replace macro latency_units(lane, which, has_regions, has_talk) as table
select o.*, lane::bigint as who
from own_calls(has_regions, has_talk) as o
where lane is not null and which;

-- Their outermost calls, numbered from 0 in each rank or process.
create or replace macro latency_positions(lane, which, has_regions, has_talk) as table
with outermost_call as (
	select who, process, call, collective from latency_units(lane, which, has_regions, has_talk) where outermost
	union all
	select any_value(who), process, call, null
	from latency_units(lane, which, has_regions, has_talk)
	where not outermost
	group by process, call
)
select who, process, call, collective, row_number() over (partition by who order by process, call) - 1 as position
from outermost_call;

-- Collective calls that stand at other places in some of their ranks: each rank's place, in the order in which collectives began.
create or replace macro latency_misaligned(lane, which, has_regions, has_talk) as table
with member as materialized (
	select collective, who, position from latency_positions(lane, which, has_regions, has_talk) where collective is not null
)
select m.who, m.position, m.collective
from member as m join collectives as c using (collective)
where exists (from (select max(position) > min(position) as apart from member group by collective) where apart)
order by c.first_enter, m.collective, m.who;

-- The number of each outermost call: its place, later by what alignment added up to there. of_ranks, from_places, by_numbers: lists, side by side.
create or replace macro latency_numbers(lane, which, has_regions, has_talk, of_ranks, from_places, by_numbers) as table
with shift as (
	select unnest(of_ranks::bigint[]) as who, unnest(from_places::bigint[]) as position, unnest(by_numbers::bigint[]) as later
)
select p.who, p.process, p.call, p.position + coalesce(s.later, 0) as number
from latency_positions(lane, which, has_regions, has_talk) as p asof left join shift as s on s.who = p.who and s.position <= p.position;

-- What each server did for each call that it served. Clipped to that call: `time`; what went on when it had returned: `after`. Several rows of one
-- server for one call add up, but to no more than from the first's begin to the last's end. `disk` is what the server spent in recorded calls of its
-- own meanwhile: those inside its row, and its calls of layer `disk` that are linked to the call served; `disk_calls`: how many those were.
-- `relayed`: what it had other servers do, whose rows are here too.
create or replace macro latency_served() as table
with of_rows as (
	select c.parent as id, sum(c.duration) as time, count(*) as calls
	from calls as c join calls as s on s.id = c.parent
	where c.parent is not null and s.layer = 'server' and c.layer not in ('server', 'fathom')
	group by c.parent
),
of_links as (
	select l.to_call as client, p.server, sum(c.duration) as spent, count(*) as calls
	from links as l join calls as c on c.id = l.from_call join server_processes() as p on p.process = c.process
	where l.kind in ('serves', 'carries') and c.layer = 'disk'
	group by l.to_call, p.server
),
pair as (
	select
		l.to_call as client, p.server, s.kind, s.kind = 'comm' as relayed, s.error, coalesce(s.bytes, 0) as bytes, s.start, s.duration, c.duration as took,
		coalesce(i.time, 0) as inside, coalesce(i.calls, 0) as inside_calls,
		least(c.duration, s.duration - greatest(0, s.start + s.duration - greatest(c.start + c.duration, s.start))) as within
	from links as l
		join calls as s on s.id = l.from_call
		join calls as c on c.id = l.to_call
		join server_processes() as p on p.process = s.process
		left join of_rows as i on i.id = s.id
	where l.kind = 'serves' and s.layer = 'server'
)
select
	pair.client, pair.server, relayed,
	count(*) as requests,
	count(*) filter (kind in ('read', 'write') and error = 0) as accesses,
	sum(bytes) as bytes,
	least(sum(duration), max(start + duration) - min(start)) as whole,
	least(any_value(took), sum(within), whole) as time,
	whole - time as after,
	least(sum(inside) + coalesce(any_value(d.spent), 0), time) as disk,
	sum(inside_calls) + coalesce(any_value(d.calls), 0) as disk_calls
from pair left join of_links as d on d.client = pair.client and d.server = pair.server and not relayed
group by pair.client, pair.server, relayed;
