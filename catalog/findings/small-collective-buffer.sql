-- title:  A collective buffer so small that calls go in many rounds
-- layer:  mpiio
-- limit:  an aggregator makes more system calls per collective call than pieces of 16 MiB, ROMIO's default, would need
-- says:   {path}: {n:count} collective {what}s of {asked:size} in all were made in pieces of {piece:size}: {rounds:count} rounds instead of
--   {enough:count}
-- lost:   the latency of the accesses and the exchange of the rounds that pieces of 16 MiB would not need. A call's own exchange
--   counts as two rounds
-- sure:   0.8
-- fix:    a buffer of {want:size} or more (now {buffer})
-- knob:   cb_buffer_size={want}
-- ompio:  --mca io_ompio_bytes_per_agg {want}
-- causes: exchange, waiting, requests, contention, transfer, unexplained
-- seen:   Thakur, Gropp, Lusk 1999; ROMIO User's Guide
with size as (
	select file, any_value(value) as buffer from hints_in_force where key = 'cb_buffer_size' and source = 'in force' group by file
),
rounds as (
	select
		t.*,
		ceil(t.moves / t.movers) as rounds,
		ceil(t.moved / t.movers / 16777216) as enough
	from collective_transfers() as t
	where t.two_phase and t.movers > 0 and t.other_moved = 0 and t.moved between 0.9 * t.asked and 1.1 * t.asked
)
select
	p.place as path,
	r.kind as what,
	count(*) as n,
	sum(r.asked)::hugeint as asked,
	sum(r.rounds)::hugeint as rounds,
	sum(r.enough)::hugeint as enough,
	sum(r.moved) / sum(r.moves) as piece,
	least(16777216, ceil(max(r.moved / r.movers)))::bigint as want,
	coalesce(any_value(size.buffer) || ' bytes', 'not known') as buffer,
	flatten(max_by(r.calls, r.wall, 4)) as calls,
	sum((r.rounds - r.enough) * coalesce(s.latency, 0) + greatest(0, r.wall - r.io) / 1e9 * (r.rounds - r.enough) / (r.rounds + 2)) as lost
from rounds as r join places() as p using (file) left join access_costs() as s using (file, kind) left join size using (file)
where r.rounds > r.enough
group by p.place, r.kind
