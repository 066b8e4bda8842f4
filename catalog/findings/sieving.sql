-- title:  Reads of much more than was asked for
-- layer:  mpiio
-- limit:  independent reads of MPI-IO below which 1.5 times their bytes were read. Reading the pieces one by one would be faster
--   at the store's cost
-- says:   {path}: {n:count} reads of {asked:size} in all, in {pieces:count} pieces, read {moved:size}; the slowest rank took {io:seconds}
-- lost:   reads of the slowest rank, less the same pieces read one by one at the store's cost. Where the run does not show what a
--   request costs, at the reference's
-- sure:   0.8
-- fix:    no data sieving of reads; or a collective read, where the ranks' pieces fill the holes
-- knob:   romio_ds_read=disable; or a smaller ind_rd_buffer_size
-- ompio:  --mca fbtl_posix_read_datasieving 0
-- causes: needless, requests, contention, unexplained, transfer, locks
-- seen:   Thakur, Gropp, Lusk 1999
with rank as (
	select
		file, process, count(*) as n, sum(size)::hugeint as asked, sum(moved)::hugeint as moved, sum(pieces)::hugeint as pieces,
		sum(io) / 1e9 as io, max_by(id, io, 4) as calls
	from transfers()
	where kind = 'read' and collective is null and moved > 1.5 * size and pieces > 0
	group by file, process
),
cost as (
	select r.*, r.io - r.pieces * if(s.latency > 0, s.latency, e.request) - r.asked * s.per_byte as lost
	from rank as r join access_costs() as s on s.file = r.file and s.kind = 'read'
		join account_references() as e on e.file = r.file and e.kind = 'read'
)
select
	p.place as path,
	sum(c.n)::hugeint as n,
	sum(c.asked)::hugeint as asked,
	sum(c.moved)::hugeint as moved,
	sum(c.pieces)::hugeint as pieces,
	max(c.io) as io,
	flatten(max_by(c.calls, c.lost, 2)) as calls,
	max(c.lost) as lost
from cost as c join places() as p using (file)
group by p.place
having max(c.lost) > 0
