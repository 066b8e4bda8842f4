-- title:  Writes that read first
-- layer:  mpiio
-- limit:  any read below a write of MPI-IO: data sieving, or a collective buffer with holes. Each stretch is locked, read,
--   changed and written whole. Of files whose calls were not recorded: collective writes with a read for every other write below
-- says:   {path}: {n:count} {how} writes of {asked:size} in all made {reads:count} reads[ ({read:size})] and wrote {written:size}; the
--   slowest rank took {io:seconds} in reads and writes[ and {locking:seconds} waiting for locks]
-- lost:   reads, writes and locks of the slowest rank, less its pieces written one by one at the store's cost. Where the run does
--   not show what a request costs, at the reference's. Where pieces are not known, a call counts as one. Without calls: its reads
--   and locks, and the share of its writes that nobody asked for
-- sure:   0.7
-- fix:    {todo}
-- knob:   [romio_ds_write={sieving}]
-- ompio:  [--mca fbtl_posix_write_datasieving {is_sieved}]
-- needs:  counters
-- causes: needless, requests, contention, unexplained, transfer
-- seen:   Thakur, Gropp, Lusk 1999; E3SM-Project/scorpio#79
with forced as (
	-- Ranks with stretches of their own leave no holes: collective-forced says who does.
	select collective from collective_transfers() where two_phase and not interleaved and movers < asking
),
together as (
	select distinct collective from transfers() where kind = 'write' and other > 0 and collective not in (from forced)
),
-- Collective writes in which each rank wrote its own, which is apart from the others': sieved like independent ones.
each as (
	select *, max(first + span) over (partition by collective order by rank rows between unbounded preceding and 1 preceding) as before
	from transfers()
	where kind = 'write' and size > 0 and collective in (from together)
),
apart as (
	select collective
	from each
	group by collective
	having bool_and(coalesce(first >= coalesce(before, first) and lowest >= first and highest <= first + span, false))
),
rank as (
	select
		file, collective is not null as together, collective is null or collective in (from apart) as sieved, process,
		count(*) as n, sum(size)::hugeint as asked, sum(other)::hugeint as reads,
		sum(other_moved)::hugeint as read, sum(moved)::hugeint as written, sum(io) / 1e9 as io, sum(locking) / 1e9 as locking,
		if(count(pieces) = count(*), sum(pieces), count(*)) as pieces, count(pieces) = count(*) as known, max_by(id, io + locking, 2) as calls
	from transfers()
	where kind = 'write' and if(collective is null, other > 0, collective in (from together))
	group by file, together, sieved, process
),
cost as (
	select
		r.* exclude (known, pieces), r.known and w.latency > 0 as known,
		r.io + r.locking - r.pieces * if(w.latency > 0, w.latency, e.request) - r.asked * w.per_byte as lost
	from rank as r join access_costs() as w on w.file = r.file and w.kind = 'write'
		join account_references() as e on e.file = r.file and e.kind = 'write'
),
-- Of collective writes that have counters alone, by file: what was asked, and by process: what was done for it.
collective_write as (
	select file, sum(c.calls)::hugeint as n, sum(c.bytes)::hugeint as asked
	from counters as c join account_collectives() as o using (layer, op)
	where c.layer = 'mpiio' and c.kind = 'write' and file not in (select file from calls where layer = 'mpiio' and file is not null)
	group by file
),
below as (
	select
		c.file, c.process, sum(c.calls) filter (c.kind = 'read') as reads, coalesce(sum(c.bytes) filter (c.kind = 'read'), 0) as read,
		sum(c.calls) filter (c.kind = 'write') as writes, coalesce(sum(c.bytes) filter (c.kind = 'write'), 0) as written,
		sum(c.time) filter (c.kind in ('read', 'write')) / 1e9 as io, coalesce(sum(c.time) filter (c.op = 'fcntl'), 0) / 1e9 as locking,
		coalesce(sum(c.time) filter (c.kind = 'write'), 0) / 1e9 as writing
	from counters as c join account_collectives() as o on o.layer = c.enclosing_layer and o.op = c.enclosing
	where is_system(c.layer) and o.kind = 'write' and c.file in (select file from collective_write)
	group by c.file, c.process
),
counted as (
	select file, sum(reads)::hugeint as reads, sum(writes)::hugeint as writes, sum(read)::hugeint as read, sum(written)::hugeint as written
	from below
	group by file
),
every as (
	select file, together, sieved, process, n, asked, reads, read, written, io, locking, calls, known, lost from cost
	union all
	select
		b.file, true, false, b.process, if(row_number() over of_file = 1, w.n, 0), if(row_number() over of_file = 1, w.asked, 0),
		b.reads, b.read, b.written, b.io,
		b.locking, null, false, b.io - b.writing * least(1, w.asked / nullif(t.written, 0)) + b.locking
	from below as b join collective_write as w using (file) join counted as t using (file)
	where 2 * t.reads >= t.writes and b.reads > 0
	window of_file as (partition by b.file order by b.process)
)
select
	p.place as path,
	if(c.together, 'collective', 'independent') as how,
	sum(c.n)::hugeint as n,
	sum(c.asked)::hugeint as asked,
	sum(c.reads)::hugeint as reads,
	nullif(sum(c.read), 0)::hugeint as read,
	sum(c.written)::hugeint as written,
	max(c.io) as io,
	nullif(max(c.locking), 0) as locking,
	if(
		c.together, 'leave no holes: write whole stretches, and more in one call[pnetcdf: : iput of each variable, one wait_all][hdf5 1.14: : H5Dwrite_multi]',
		'fill the holes by a collective write of all ranks, or write whole stretches'
	) || if(c.sieved, '; where pieces are large, no data sieving of writes', '') as todo,
	if(c.sieved, 'disable', null) as sieving,
	if(c.sieved, '0', null) as is_sieved,
	if(bool_and(c.known), 0.8, 0.6) as sure,
	flatten(max_by(c.calls, c.lost, 4)) as calls,
	list(distinct c.file) as cell_files,
	max(c.lost) as lost
from every as c join places() as p using (file)
group by p.place, c.together, c.sieved
having max(c.lost) > 0
