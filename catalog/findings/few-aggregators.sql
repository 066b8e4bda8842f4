-- title:  Few ranks move what all ranks ask for
-- layer:  mpiio
-- limit:  two-phase calls that would keep at least twice as many ranks busy, each with a piece larger than `half`
--   (store_costs())
-- says:   {path}: {n:count} collective {what}s of {asked:size} in all by {ranks} ranks were moved by {movers} of them; the slowest
--   of these took {io:seconds}
-- lost:   the share of the aggregators' reads and writes that {want} ranks would not need at the store's cost
-- needs:  calls, ranks
-- sure:   0.5
-- fix:    more aggregators: {want} instead of {movers}, where the store serves several ranks of a node as fast as one
-- knob:   cb_nodes={want}, cb_config_list=*:* (ROMIO: by default one aggregator per node; cb_nodes alone does nothing on one node)
-- ompio:  --mca io_ompio_num_aggregators {want}
-- causes: transfer, contention, unexplained, requests
-- seen:   Liao, Choudhary, SC 2008; ROMIO User's Guide
with wanted as (
	select t.*, s.latency, s.per_byte, least(t.asking, floor(t.asked / greatest(1, coalesce(s.half, 0)))) as want
	from collective_transfers() as t join access_costs() as s using (file, kind)
	where t.two_phase and t.interleaved and t.movers > 0 and s.per_byte > 0
),
compared as (
	select
		*,
		ceil(asked / movers / 16777216) * latency + asked / movers * per_byte as now,
		ceil(asked / want / 16777216) * latency + asked / want * per_byte as shared
	from wanted
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
	flatten(max_by(w.calls, w.io, 4)) as calls,
	sum(w.io * (1 - w.shared / w.now)) / 1e9 as lost
from compared as w join places() as p using (file)
group by p.place, w.kind
