-- How the file was dealt out to the aggregators of each collective call in which ranks moved one another's bytes (`together`), from
-- what each of them moved.
--
-- A stretch is what one aggregator moved side by side, or with holes that nobody moved. One stretch each: the file is cut in
-- as many pieces, and the borders say how. Several: stripes are dealt out in turn, to all aggregators or within groups of them.
with placed as (
	select
		collective, process, file_offset as low, file_offset + bytes as high, id,
		process is distinct from lag(process) over in_file as begins
	from below
	where main and file_offset is not null and collective in (from together)
	window in_file as (partition by collective order by file_offset, id)
),
numbered as (
	select *, count(*) filter (begins) over (partition by collective order by low, id rows unbounded preceding) as stretch
	from placed
),
stretches as (
	select collective, stretch, any_value(process) as process, min(low) as low, max(high) as high
	from numbered
	group by collective, stretch
),
extents as (
	select
		collective,
		count(distinct process) as aggregators,
		count(*) as stretches,
		min(low) as low,
		max(high) as high,
		mode(high - low) as usual
	from stretches
	group by collective
),
-- Between two stretches the border lies somewhere from the end of the one to the begin of the other.
borders as (
	select collective, stretch - 1 as number, lag(high) over in_file as from_byte, low as to_byte
	from stretches
	window in_file as (partition by collective order by stretch)
	qualify from_byte is not null
),
cut as (
	select
		b.collective,
		bool_and(from_byte <= to_byte) as apart,
		bool_and(e.low + number * ceil((e.high - e.low) / e.aggregators) between from_byte and to_byte) as even,
		-- the largest power of two that a border can be a multiple of: the first bit in which the two differ
		min(floor(log2(greatest(xor(greatest(from_byte, 1) - 1, to_byte), 1))))::integer as shift,
		bool_and(u.unit > 0 and to_byte // u.unit * u.unit >= from_byte) as on_units
	from borders as b join extents as e using (collective) left join units as u using (collective)
	where e.stretches = e.aggregators
	group by b.collective
),
-- The whole file in stripes: whose turn it is. Groups are aggregators whose pieces do not reach into one another's.
spans as (
	select collective, process, min(low) as low, max(high) as high
	from stretches
	group by collective, process
),
grouped as (
	select
		*,
		count(*) filter (apart) over (partition by collective order by low, process rows unbounded preceding) as part
	from (
		select
			*,
			low >= coalesce(max(high) over (
				partition by collective order by low, process rows between unbounded preceding and 1 preceding
			), low) as apart
		from spans
	)
),
sizes as (
	select collective, part, count(*) as members
	from grouped
	group by collective, part
),
turns as (
	select
		s.collective,
		g.part,
		s.process,
		any_value(z.members) as members,
		min(s.low // coalesce(nullif(u.unit, 0), e.usual) % z.members) as turn,
		max(s.low // coalesce(nullif(u.unit, 0), e.usual) % z.members) as last_turn,
		max((s.high - 1) // coalesce(nullif(u.unit, 0), e.usual) - s.low // coalesce(nullif(u.unit, 0), e.usual)) as crossed
	from stretches as s
	join extents as e using (collective)
	join grouped as g using (collective, process)
	join sizes as z using (collective, part)
	left join units as u using (collective)
	where e.stretches > e.aggregators
	group by s.collective, g.part, s.process
),
dealt as (
	select
		collective,
		count(distinct part) as parts,
		max(members) as members,
		bool_and(turn = last_turn and crossed = 0) and count(*) = count(distinct (part, turn)) as in_turn
	from turns
	group by collective
)
select
	e.collective,
	case
		when e.aggregators = 1 then 'one'
		when e.stretches = e.aggregators and c.even then 'even'
		when e.stretches = e.aggregators and c.apart and (c.on_units or c.shift >= 12) then 'aligned'
		when d.in_turn and d.parts = 1 then 'round-robin by stripe'
		when d.in_turn and d.members > 1 then 'group'
		else 'unknown'
	end as domains,
	case when e.stretches = e.aggregators and c.apart then 1::bigint << c.shift end as aligned_bytes,
	case when d.in_turn then coalesce(nullif(u.unit, 0), e.usual) end as stripe_bytes
from extents as e
left join cut as c using (collective)
left join dealt as d using (collective)
left join units as u using (collective)
