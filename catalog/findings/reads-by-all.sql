-- title:  Every rank reads the same bytes
-- layer:  posix
-- limit:  two ranks or more ask for the same offset and size
-- says:   {path}: {ranks:count} ranks read the same {size:size}, {seconds:seconds} of the slowest
-- lost:   of bytes that m ranks read, (m - 1) / m of what the first reading took the slowest rank
-- needs:  calls, ranks
-- sure:   0.5
-- fix:    read with a collective call, or one rank reads and broadcasts[hdf5: ; for metadata H5Pset_all_coll_metadata_ops]
-- causes: transfer, requests, contention, unexplained, needless
-- seen:   Carns et al. 2011 (Darshan); Thakur, Gropp, Lusk 1999
with shared as (
	select r.*, count(*) over (partition by r.file, r.file_offset, r.bytes) as ranks
	from reread() as r join processes as p using (process)
	where p.rank is not null
),
process as (
	select
		p.place as path, s.process, max(s.ranks) as ranks, max(s.scale) as scale, sum(s.bytes) as bytes,
		sum(s.time / s.n * (1 - 1 / s.ranks)) / 1e9 as lost, max_by(s.worst, s.longest, 8) as worst
	from shared as s join places() as p using (file)
	where s.ranks > 1
	group by p.place, s.process
)
select
	path,
	max(ranks) as ranks,
	max(bytes) * max(scale) as size,
	max(lost) * max(scale) as seconds,
	list_slice(flatten(list(worst)), 1, 8) as calls,
	max(lost) * max(scale) as lost
from process
group by path
