-- How the file was dealt out to the aggregators of each collective call in which ranks moved one another's bytes (`together`), from
-- what each of them moved.
--
-- Where no aggregator's span reaches into another's, the file is cut in as many pieces, and the borders say how. Elsewhere stripes are
-- dealt out in turn, to all aggregators or within groups of them; of a run with more than a million such system calls the first of
-- each group are looked at.
with spans as (
	select collective, process, min(file_offset) as low, max(file_offset + bytes) as high, count(*) as calls
	from below
	where main and file_offset is not null and collective in (from together)
	group by collective, process
),
-- Groups: aggregators whose spans reach into one another's.
grouped as (
	select *, count(*) filter (apart) over (partition by collective order by low, process rows unbounded preceding) as part
	from (
		select
			*,
			low >= coalesce(max(high) over (
				partition by collective order by low, process rows between unbounded preceding and 1 preceding
			), low) as apart
		from spans
	)
),
groups as (
	select collective, part, count(*) as members, min(low) as low, max(high) as high, sum(calls) as calls
	from grouped
	group by collective, part
),
extents as (
	select collective, sum(members) as aggregators, count(*) as parts, min(low) as low, max(high) as high
	from groups
	group by collective
),
-- Between two pieces the border lies somewhere from the end of the one to the begin of the other.
borders as (
	select
		g.collective,
		e.low + (row_number() over pieces - 1) * ceil((e.high - e.low) / e.aggregators) as even_byte,
		lag(g.high) over pieces as from_byte,
		g.low as to_byte
	from grouped as g join extents as e using (collective)
	where e.parts = e.aggregators
	window pieces as (partition by g.collective order by g.low)
	qualify from_byte is not null
),
cut as (
	select
		b.collective,
		bool_and(even_byte between from_byte and to_byte) as even,
		-- the largest power of two that a border can be a multiple of: the first bit in which the two differ
		min(floor(log2(greatest(xor(greatest(from_byte, 1) - 1, to_byte), 1))))::integer as shift,
		bool_and(u.unit > 0 and to_byte // u.unit * u.unit >= from_byte) as on_units
	from borders as b left join units as u using (collective)
	group by b.collective
),
dealt_calls as (
	select b.collective, g.part, b.process, b.file_offset as low, b.file_offset + b.bytes as high, b.id
	from below as b
	join grouped as m using (collective, process)
	join groups as g on g.collective = m.collective and g.part = m.part
	join extents as e on e.collective = g.collective
	where b.main and e.parts < e.aggregators
	and b.file_offset <= g.low + (g.high - g.low) * greatest(4096 / g.calls, 1e6 / (select sum(calls) from groups where members > 1))
),
-- What one aggregator moved side by side, or with holes that nobody moved.
stretches as (
	select collective, part, stretch, any_value(process) as process, min(low) as low, max(high) as high
	from (
		select *, count(*) filter (begins) over (partition by collective, part order by low, id rows unbounded preceding) as stretch
		from (
			select *, process is distinct from lag(process) over (partition by collective, part order by low, id) as begins
			from dealt_calls
		)
	)
	group by collective, part, stretch
),
stripes as (
	select collective, coalesce(max(nullif(u.unit, 0)), mode(high - low)) as stripe
	from stretches left join units as u using (collective)
	group by collective
),
turns as (
	select
		s.collective,
		s.part,
		s.process,
		any_value(g.members) as members,
		min(s.low // t.stripe % g.members) as turn,
		max(s.low // t.stripe % g.members) as last_turn,
		max((s.high - 1) // t.stripe - s.low // t.stripe) as crossed
	from stretches as s join stripes as t using (collective) join groups as g on g.collective = s.collective and g.part = s.part
	group by s.collective, s.part, s.process
),
dealt as (
	select
		collective,
		count(distinct part) as parts,
		min(members) as members,
		bool_and(turn = last_turn and crossed = 0) and count(*) = count(distinct (part, turn)) as in_turn
	from turns
	group by collective
)
select
	e.collective,
	case
		when e.aggregators = 1 then 'one'
		when c.even then 'even'
		when c.on_units or c.shift >= 12 then 'aligned'
		when d.in_turn and d.parts = 1 then 'round-robin by stripe'
		when d.in_turn and d.members > 1 then 'group'
		else 'unknown'
	end as domains,
	1::bigint << c.shift as aligned_bytes,
	case when d.in_turn then t.stripe end as stripe_bytes
from extents as e
left join cut as c using (collective)
left join dealt as d using (collective)
left join stripes as t using (collective)
