-- title:  Collective calls moved in many small pieces
-- layer:  mpiio
-- limit:  collective calls whose ranks interleave (ROMIO's own test), where each rank moved its own bytes. A system call moved 64 KiB
--   on average at most, and a rank made 256 and more. The library gathered nothing: two-phase I/O is off, or was not chosen
-- says:   {path}: {n:count} collective {what}s of {asked:size} in all by {ranks} ranks became {moves:count} system calls of {size:size}
--   on average; the slowest rank spent {seconds:seconds} in them
-- lost:   these system calls of the slowest rank, less the same bytes sent to {aggregators} aggregators and moved in pieces of 16 MiB.
--   The exchange is taken at 0.5 to 4 GB/s, best 1 GB/s
-- needs:  calls, ranks
-- sure:   0.7
-- fix:    let the library gather the pieces on aggregators: two-phase I/O{instead}
-- knob:   romio_cb_write=enable, romio_cb_read=enable
-- ompio:  --mca fcoll dynamic_gen2
-- causes: requests, contention, locks, library, transfer, unexplained
-- seen:   S3D-IO under OMPIO, whose default for few ranks is fcoll individual; ROMIO, ad_write_coll.c
with switched_off as (
	select file, string_agg(distinct key || '=' || value, ', ' order by key || '=' || value) as off
	from hints_in_force
	where source = 'asked' and key in ('romio_cb_write', 'romio_cb_read') and value = 'disable'
	group by file
),
-- Where ranks share processors an exchange takes turns of the scheduler.
apart as (
	select t.*, least(t.ranks, greatest(1, coalesce(h.cb_nodes, r.nodes))) as aggregators, o.off
	from collective_transfers() as t left join aggregators_in_force() as h using (file) left join switched_off as o using (file), runs as r
	where not t.two_phase and t.interleaved and t.moves > 0 and not exists (from account_crowded())
),
file as (
	select
		file, kind, count(*) as n, max(ranks) as ranks, max(aggregators) as aggregators, any_value(off) as off, sum(asked)::hugeint as asked,
		sum(moved)::hugeint as moved, sum(moves)::hugeint as moves, sum(io) / 1e9 as seconds, flatten(max_by(calls, io, 4)) as calls,
		sum(ceil(asked / aggregators / 16777216)) as large
	from apart
	group by file, kind
	having moved <= 65536 * moves and moves >= 256 * max(movers)
)
select
	p.place as path,
	f.kind as what,
	sum(f.n)::hugeint as n,
	max(f.ranks) as ranks,
	max(f.aggregators) as aggregators,
	sum(f.asked)::hugeint as asked,
	sum(f.moves)::hugeint as moves,
	sum(f.moved) / sum(f.moves) as size,
	sum(f.seconds) as seconds,
	coalesce(', without ' || any_value(f.off), '') as instead,
	flatten(max_by(f.calls, f.seconds, 2)) as calls,
	sum(f.seconds - f.large * s.latency - f.asked / f.aggregators * s.per_byte) as gathered,
	greatest(0, gathered - sum(f.asked) * 2e-9) as low,
	gathered - sum(f.asked) * 1e-9 as lost,
	gathered - sum(f.asked) * 0.25e-9 as high
from file as f join places() as p using (file) join access_costs() as s using (file, kind)
group by p.place, f.kind
having lost > 0
