-- title:  Collective buffering where each rank has a stretch of its own
-- layer:  mpiio
-- limit:  collective calls whose ranks do not interleave (ROMIO's own test), while fewer ranks than asked moved the bytes.
--   Sending them there gains nothing
-- says:   {path}: {n:count} collective {what}s of {asked:size} in all went through {movers} of {ranks} ranks, though every rank asked for
--   one stretch of its own; they took {seconds:seconds}, {io:seconds} of it reads and writes of the slowest rank
-- lost:   from the last rank's arrival to the last one's leave, less what the rank with most bytes would take alone
-- sure:   0.8
-- fix:    {todo}
-- knob:   romio_cb_write=automatic, romio_cb_read=automatic, romio_no_indep_rw=false
-- ompio:  --mca fcoll individual
-- causes: exchange, waiting, library, transfer, requests, contention, unexplained
-- seen:   FLASH-IO; ROMIO, ad_write_coll.c
with hint as (
	select file, string_agg(distinct key || '=' || value, ', ' order by key || '=' || value) as asked
	from hints_in_force
	where source = 'asked' and (key in ('romio_cb_write', 'romio_cb_read') and value = 'enable' or key = 'romio_no_indep_rw' and value = 'true')
	group by file
)
select
	p.place as path,
	t.kind as what,
	count(*) as n,
	sum(t.asked)::hugeint as asked,
	max(t.movers) as movers,
	max(t.ranks) as ranks,
	sum(t.wall) / 1e9 as seconds,
	sum(t.io) / 1e9 as io,
	case
		when exists (from ompio_users()) then 'call independently, or let each rank write and read its own part'
		else 'leave the choice to the library: ' || coalesce('without ' || any_value(h.asked), 'no hint that forces collective buffering')
			|| '; or call independently'
	end as todo,
	flatten(max_by(t.calls, t.wall, 4)) as calls,
	sum(greatest(0, t.wall / 1e9 - s.latency - t.most * s.per_byte)) as lost
from collective_transfers() as t join places() as p using (file) join access_costs() as s using (file, kind) left join hint as h using (file)
where t.two_phase and not t.interleaved and t.movers < t.asking
group by p.place, t.kind
