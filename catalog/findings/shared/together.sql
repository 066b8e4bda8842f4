-- Collective reads and writes of MPI-IO, each with what all its ranks asked for and what the system calls below did. Times in ns.
-- Columns: collective, file, kind, ranks, asking (ranks that asked for bytes), movers (ranks that made system calls), asked (bytes),
-- most (bytes of the rank that asked for most), moves (system calls), moved (their bytes), other_moved (bytes read below a write), io
-- (system calls of the slowest rank), least (of the fastest that made any), wall (from the last rank's arrival to the last one's leave), wait (until the last rank arrived),
-- two_phase (ranks moved what others asked for: those moved nothing, or what a rank asked for in pieces it moved in one stretch), interleaved (ROMIO's test: a rank begins before the one before it ends),
-- handle, opened (tell one open of the file from the next), ordinal (n-th collective call on it), first_enter, last_leave, parent (of one
-- of them), calls (the slowest).
with each as (
	select
		t.*,
		max(first + span) over (partition by collective order by rank rows between unbounded preceding and 1 preceding) as before
	from {transfers} as t
	where collective is not null
)
select
	e.collective,
	any_value(e.file) as file,
	any_value(e.kind) as kind,
	count(*) as ranks,
	count(*) filter (e.size > 0) as asking,
	count(*) filter (e.moves > 0) as movers,
	sum(e.size)::hugeint as asked,
	max(e.size) as most,
	sum(e.moves)::hugeint as moves,
	sum(e.moved)::hugeint as moved,
	sum(e.other_moved)::hugeint as other_moved,
	max(e.io) as io,
	min(e.io) filter (e.moves > 0) as least,
	any_value(c.last_leave - c.last_enter) as wall,
	any_value(c.last_enter - c.first_enter) as wait,
	bool_or(
		e.size > 0 and e.moves = 0 or e.moved > 0 and e.size = 0 or e.moved > 1.5 * e.size and e.span = e.size
		or e.span > e.size and e.moves > 0 and e.highest - e.lowest <= e.moved
	) as two_phase,
	bool_or(e.span > e.size or e.first < e.before) as interleaved,
	any_value(c.group_hash) as handle,
	any_value(c.open_ordinal) as opened,
	any_value(c.ordinal) as ordinal,
	any_value(c.first_enter) as first_enter,
	any_value(c.last_leave) as last_leave,
	min(e.parent) as parent,
	max_by(e.id, e.duration, 2) as calls
from each as e join collectives as c using (collective)
group by e.collective
