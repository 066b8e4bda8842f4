-- title:  More aggregators than the store serves at once
-- layer:  mpiio
-- limit:  two or more ranks moved pieces smaller than `half` (store_costs()), and the store served them one after another. The
--   last took more than 1.5 times the first, and more than 0.6 times their number
-- says:   {path}: {n:count} collective {what}s of {asked:size} in all were made by {movers} aggregators in pieces of {piece:size}; the fastest
--   took {least:seconds} in all, the slowest {io:seconds}
-- lost:   reads and writes of the slowest aggregator, less those of {want} aggregators at the fastest one's cost
-- needs:  calls, ranks
-- sure:   0.6
-- fix:    fewer aggregators: {want} instead of {movers}
-- knob:   cb_nodes={want}, cb_config_list=*:*
-- ompio:  --mca io_ompio_num_aggregators {want}
-- causes: exchange, waiting, requests, contention, transfer, unexplained
-- seen:   Liao, Choudhary, SC 2008; ROMIO User's Guide
with waiting as (
	-- The larger part of a small access; all of it where bytes cost nothing.
	select
		t.*, s.latency / nullif(s.latency + s.per_byte * t.moved / t.moves, 0) as share, t.least / 1e9 / (t.moves / t.movers) as each,
		9 * s.latency / nullif(s.per_byte, 0) as large
	from collective_transfers() as t join access_costs() as s using (file, kind)
	where t.interleaved and t.movers > 1
),
wanted as (
	select *, if(large is null, 1, greatest(1, floor(asked / large))) as want from waiting where share > 0.5
),
predicted as (
	-- What the fastest one's accesses took is taken for the store's own cost.
	select *, want * each * share * ceil(moved / want / 16777216) + moved * each * (1 - share) / (moved / moves) as seconds
	from wanted
	where want < movers
)
select
	p.place as path,
	w.kind as what,
	count(*) as n,
	sum(w.asked)::hugeint as asked,
	max(w.movers) as movers,
	max(w.want)::bigint as want,
	sum(w.moved) / sum(w.moves) as piece,
	sum(w.least) / 1e9 as least,
	sum(w.io) / 1e9 as io,
	flatten(max_by(w.calls, w.io, 4)) as calls,
	sum(w.io / 1e9 - w.seconds) as lost
from predicted as w join places() as p using (file)
group by p.place, w.kind
having lost > 0 and sum(w.io) > greatest(1.5, 0.6 * max(w.movers)) * sum(w.least)
