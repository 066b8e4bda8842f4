-- title:  Writes that read first
-- layer:  mpiio
-- limit:  any read below a write of MPI-IO: data sieving, or a collective buffer with holes. Each stretch is locked, read,
--   changed and written whole
-- says:   {path}: {n:count} {how} writes of {asked:size} in all read {read:size} and wrote {written:size}; the slowest rank took
--   {io:seconds} in reads and writes and {locking:seconds} waiting for locks
-- lost:   reads, writes and locks of the slowest rank, less its pieces written one by one at the store's cost. Where pieces or
--   latency are not known, less its bytes
-- sure:   0.7
-- fix:    fill the holes by a collective write of all ranks, or write whole stretches; where pieces are large, no data sieving of writes
-- knob:   romio_ds_write=disable
-- ompio:  --mca fbtl_posix_write_datasieving false
-- causes: needless, requests, contention, unexplained, transfer
-- seen:   Thakur, Gropp, Lusk 1999; E3SM-Project/scorpio#79
with rank as (
	select
		file, collective is not null as together, process, count(*) as n, sum(size)::hugeint as asked, sum(other_moved)::hugeint as read,
		sum(moved)::hugeint as written, sum(io) / 1e9 as io, sum(locking) / 1e9 as locking,
		if(count(pieces) = count(*), sum(pieces), count(*)) as pieces, count(pieces) = count(*) as known, max_by(id, io + locking, 2) as calls
	from transfers()
	where kind = 'write' and other > 0
	group by file, together, process
),
cost as (
	select
		r.* exclude (known), r.known and w.latency > 0 as known,
		r.io + r.locking - r.pieces * w.latency - r.asked * w.per_byte as lost
	from rank as r join access_costs() as w on w.file = r.file and w.kind = 'write'
)
select
	p.place as path,
	if(c.together, 'collective', 'independent') as how,
	sum(c.n)::hugeint as n,
	sum(c.asked)::hugeint as asked,
	sum(c.read)::hugeint as read,
	sum(c.written)::hugeint as written,
	max(c.io) as io,
	max(c.locking) as locking,
	if(bool_and(c.known), 0.8, 0.6) as sure,
	flatten(max_by(c.calls, c.lost, 4)) as calls,
	max(c.lost) as lost
from cost as c join places() as p using (file)
group by p.place, c.together
having max(c.lost) > 0
