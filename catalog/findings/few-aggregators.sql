-- title:  Few ranks move what all ranks ask for
-- layer:  mpiio
-- limit:  two-phase calls of a file. The largest would keep at least twice as many ranks busy, each with a piece larger than `half`
--   (store_costs())
-- says:   {path}: {n:count} collective {what}s of {asked:size} in all by {ranks} ranks were moved by {movers} of them; the slowest
--   of these took {io:seconds}[, the exchange with the others {exchange:seconds}]
-- lost:   the share of the aggregators' reads and writes that {want} ranks would not need at the store's cost, no quicker than its
--   servers. And that share of the exchange that goes with bytes: as learnt from calls of other sizes (exchange_costs()), else 1 GB/s.
--   The interval is from half of that, or 4 GB/s, to all of the exchange
-- needs:  calls, ranks
-- sure:   0.5
-- fix:    more aggregators: {want} instead of {movers}, where the store serves several ranks of a node as fast as one
-- knob:   cb_nodes={want}, cb_config_list=*:* (ROMIO: by default one aggregator per node; cb_nodes alone does nothing on one node)
-- ompio:  --mca io_ompio_num_aggregators {want}
-- causes: exchange, waiting, library, transfer, contention, unexplained, requests
-- seen:   Liao, Choudhary, SC 2008; ROMIO User's Guide
with wanted as (
	select
		t.*, s.latency, s.per_byte, least(t.asking, floor(max(t.asked) over (partition by file, kind) / greatest(1, coalesce(s.half, 0)))) as want,
		greatest(0, t.wall - t.io) / 1e9 as exchange, e.served / coalesce(f.stripes, 1) as served
	from collective_transfers() as t join access_costs() as s using (file, kind) join account_references() as e using (file, kind)
		left join file_layouts() as f using (file)
	where t.two_phase and t.interleaved and t.movers > 0 and s.per_byte > 0
),
compared as (
	select
		w.*, 1 - movers / want as spared,
		ceil(asked / movers / 16777216) * latency + asked / movers * w.per_byte as now,
		ceil(asked / want / 16777216) * latency + asked * greatest(w.per_byte / want, served) as shared,
		io / 1e9 * greatest(0, 1 - shared / now) as of_store,
		least(exchange, coalesce(x.per_byte, 1e-9) * asked / movers) as of_bytes, if(x.per_byte is null, 0.25, 0.5) as least_part
	from wanted as w left join exchange_costs() as x using (file, kind)
	-- Ranks that share processors are slow whoever moves the bytes.
	where want >= 2 * movers and not exists (from account_crowded())
)
select
	p.place as path,
	w.kind as what,
	count(*) as n,
	sum(w.asked)::hugeint as asked,
	max(w.ranks) as ranks,
	max(w.movers) as movers,
	max(w.want)::bigint as want,
	sum(w.io) / 1e9 as io,
	nullif(sum(w.exchange), 0) as exchange,
	flatten(max_by(w.calls, w.wall, 4)) as calls,
	sum(w.of_store / 2 + w.spared * w.of_bytes * w.least_part) as low,
	sum(w.of_store + w.spared * w.of_bytes) as lost,
	sum(w.spared * (w.io / 1e9 + w.exchange)) as high
from compared as w join places() as p using (file)
group by p.place, w.kind
