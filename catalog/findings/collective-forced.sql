-- title:  Collective calls where each rank has a stretch of its own
-- layer:  mpiio
-- limit:  collective calls whose ranks do not interleave (ROMIO's own test), while fewer ranks than asked moved the bytes.
--   Sending them there gains nothing. Or each rank moved its own, by 8 calls and more. The median one took three times as long
--   as the slowest rank's reads and writes in it
-- says:   {path}: {n:count} collective {what}s of {asked:size} in all went {way}; they took {seconds:seconds},
--   {io:seconds} of it reads and writes of the slowest rank
-- lost:   from the last rank's arrival to the last one's leave, less what the rank with most bytes would take alone. Where each moved
--   its own, less what the slowest rank took for that
-- sure:   0.8
-- fix:    {todo}
-- knob:   [romio_cb_write=automatic, romio_cb_read=automatic, romio_no_indep_rw={unforced}]
-- ompio:  --mca fcoll individual
-- causes: exchange, waiting, library, needless, transfer, requests, contention, unexplained
-- seen:   FLASH-IO; ROMIO, ad_write_coll.c
with hint as (
	select file, string_agg(distinct key || '=' || value, ', ' order by key || '=' || value) as asked
	from hints_in_force
	where source = 'asked' and (key in ('romio_cb_write', 'romio_cb_read') and value = 'enable' or key = 'romio_no_indep_rw' and value = 'true')
	group by file
),
own as (
	select *, not two_phase and movers >= asking as own from collective_transfers() where not interleaved and asking > 1
)
select
	p.place as path,
	t.kind as what,
	count(*) as n,
	sum(t.asked)::hugeint as asked,
	if(
		t.own, format('to the file from each of {} ranks itself, as independent ones would', max(t.ranks)),
		format('through {} of {} ranks, though every rank asked for one stretch of its own', max(t.movers), max(t.ranks))
	) as way,
	sum(t.wall) / 1e9 as seconds,
	sum(t.io) / 1e9 as io,
	case
		when t.own then 'call independently[hdf5: : H5Pset_dxpl_mpio with H5FD_MPIO_INDEPENDENT]'
		when exists (from ompio_users()) then 'call independently, or let each rank write and read its own part'
		else 'leave the choice to the library: ' || coalesce('without ' || any_value(h.asked), 'no hint that forces collective buffering')
			|| '; or call independently'
	end as todo,
	if(t.own, null, 'false') as unforced,
	flatten(max_by(t.calls, t.wall, 4)) as calls,
	sum(if(t.own, t.wall - t.io, greatest(0, t.wall - 1e9 * (s.latency + t.most * s.per_byte)))) / 1e9 as lost
from own as t join places() as p using (file) join access_costs() as s using (file, kind) left join hint as h using (file)
where t.own and not exists (from account_crowded()) or t.two_phase and t.movers < t.asking
group by p.place, t.kind, t.own
-- Of ranks that lose their processor now and then a few calls take long; of ranks that share processors all may.
having not t.own or count(*) >= 8 and quantile_cont(t.wall / greatest(1, t.io), 0.5) > 3
