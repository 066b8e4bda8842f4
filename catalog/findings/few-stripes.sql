-- title:  Few stripes for many ranks
-- layer:  server
-- limit:  4 times as many ranks move data of a file as it has stripes, which are below 16. Each stripe has 1 GiB and more, and accesses have
--   64 KiB and more
-- says:   {path}: {ranks:count} ranks moved {bytes:size} of {file_count} on {stripes_each}: {seconds:seconds} of the slowest rank went to the store's rate, its
--   contention, and what waits for it
-- lost:   the store's part of these files' time shrinks to {stripes} of {want}. At least half of it is won, at most so much of all that waits for it
-- sure:   0.7
-- fix:    lfs setstripe -c {want} on the directory before the file is made[mpiio below: ; ROMIO takes as many aggregators as stripes]
-- knob:   striping_factor
-- needs:  counters
-- causes: transfer, contention, exchange, locks
-- when:   exists (from hints_in_force where key = 'striping_factor')
-- seen:   Yu, Vetter 2008; Lustre manual, striping; Bez et al. 2022 (Drishti)
with moved as (
	select
		file, count(distinct process) filter (is_own_access(enclosing_layer, enclosing)) as ranks, sum(calls) filter (reaches_storage(layer, enclosing_layer)) as n,
		sum(bytes) filter (reaches_storage(layer, enclosing_layer))::hugeint as bytes
	from counters
	where kind in ('read', 'write') and file is not null
	group by file
),
wide as (
	select m.*, s.stripes, least(m.ranks, 32, greatest(4 * s.stripes, m.bytes // 268435456))::bigint as want
	from moved as m join file_layouts() as s using (file)
	where s.stripes > 0 and m.ranks >= 4 * s.stripes and s.stripes < 16 and m.bytes >= 1073741824 * s.stripes and m.bytes >= 65536 * m.n
),
spent as (
	select
		p.place as path, w.file, a.process, any_value(w.stripes) as stripes, any_value(w.want) as want, any_value(w.ranks) as ranks,
		any_value(w.bytes) as bytes,
		sum(a.time) / 1e9 as seconds,
		coalesce(sum(a.time) filter (a.cause <> 'exchange'), 0) / 1e9 as store
	from account() as a join wide as w using (file) join places() as p using (file)
	where a.cause in ('transfer', 'contention', 'exchange', 'locks') and a.layer in ('posix', 'mpiio')
	group by p.place, w.file, a.process
),
process as (
	select
		path, process, list(file) as files, max(stripes) as stripes, max(want) as want, max(ranks) as ranks, sum(bytes) as bytes, sum(seconds) as seconds,
		sum(store) as store
	from spent
	group by path, process
)
select
	path,
	arg_max(files, seconds) as cell_files,
	max(ranks) as ranks,
	max(bytes)::hugeint as bytes,
	if(len(arg_max(files, seconds)) = 1, 'a file', format('{} files', len(arg_max(files, seconds)))) as file_count,
	if(max(stripes) = 1, 'one stripe each', format('{} stripes each', max(stripes))) as stripes_each,
	max(stripes) as stripes,
	max(want) as want,
	max(seconds) as seconds,
	arg_max(store, seconds) / 2 as low,
	arg_max(store, seconds) * (1 - max(stripes) / max(want)) as lost,
	max(seconds) * (1 - max(stripes) / max(want)) as high,
	[]::ubigint[] as calls
from process
group by path
having lost > 0
