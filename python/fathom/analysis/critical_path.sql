-- The critical process's calls of each phase, by what they were made inside, down to what servers did for them: where the
-- server was recorded in full, as the slowest one is. Cut at the phase's end. $known: there are phases; without, no call is looked at.
with recursive {critical_phase},
step as (
	select p.phase, p.stop, c.id, c.layer, c.op, c.start, c.duration, c.bytes, 0 as depth, c.op as steps
	from phase as p join calls as c on c.process = p.process and c.start >= p.start and c.start < p.stop
	where $known and c.parent is null and c.layer <> 'fathom'
	union all
	select s.phase, s.stop, c.id, c.layer, c.op, c.start, c.duration, c.bytes, s.depth + 1, s.steps || ' > ' || c.op
	from step as s join calls as c on c.parent = s.id
	where $known and c.layer <> 'fathom'
),
work as (
	select
		s.phase, s.stop, c.layer, c.op, c.start, c.duration, l.bytes, s.depth + if(c.layer = 'disk', 2, 1) as depth,
		s.steps || ' > ' || p.server || if(c.layer = 'disk', ' > ', ': ') || c.op as steps
	from step as s
		join links as l on l.to_call = s.id and l.kind in ('serves', 'carries')
		join calls as c on $known and c.id = l.from_call and c.layer in ('server', 'disk')
		join server_process as p on p.process = c.process
),
every as (
	select phase, stop, layer, op, start, duration, bytes, depth, steps from step
	union all
	from work
)
select
	phase, any_value(r.rank) as rank, e.steps, any_value(e.layer) as layer, any_value(e.op) as function, any_value(e.depth)::integer as depth,
	count(*) as calls, coalesce(sum(e.bytes), 0) as bytes,
	sum(greatest(0, least(e.start + e.duration, p.stop) - e.start)) / 1e9 as seconds,
	sum(greatest(0, least(e.start + e.duration, p.stop) - e.start)) / any_value(p.stop - p.start) as share
from every as e join phase as p using (phase) left join processes as r on r.process = p.process
group by phase, e.steps
order by phase, e.steps
