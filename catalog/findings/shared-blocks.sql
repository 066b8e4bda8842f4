-- title:  Writers share a block or stripe
-- layer:  posix
-- limit:  writes that begin or end within a stripe (or 4,096 bytes) that another process writes too. They take 1.5 times as long
--   as others of their size and directory; 16 at least
-- says:   {path}: {n:count} writes of {size:size} on average by {processes:count} processes end in {blocks:count} pieces of {block:size} that others
--   write too, and take {each:seconds} each; others {other:seconds}
-- lost:   what those of the slowest process took more
-- needs:  calls, ranks
-- sure:   0.6
-- fix:    give each rank whole blocks: align its part to {block:count} bytes, or write by a collective call with file domains so aligned
-- knob:   striping_unit[hdf5: , H5Pset_alignment]
-- causes: contention, requests, unexplained, transfer, locks
-- seen:   Liao, Choudhary 2008 (file domains aligned to lock boundaries); Dickens, Logan 2010
with each as (
	select
		c.id, c.process, c.file, c.bytes, c.duration, floor(log2(c.bytes))::int as bin,
		b.piece is not null or e.piece is not null as shares
	from calls as c join places() as p using (file)
		left join fought() as b on b.file = c.file and b.piece = c.file_offset // p.block and c.file_offset % p.block <> 0
		left join fought() as e on e.file = c.file and e.piece = (c.file_offset + c.bytes) // p.block and (c.file_offset + c.bytes) % p.block <> 0
	where c.layer = 'posix' and c.kind = 'write' and c.bytes > 0 and c.error = 0 and c.file_offset is not null
		and c.file in (select file from fought())
),
other as (
	select directory, bin, exp(avg(ln(greatest(duration, 1)))) / 1e9 as seconds
	from each join places() using (file)
	where not shares
	group by directory, bin
),
fought as (
	select p.place, count(*) as blocks from fought() join places() as p using (file) group by p.place
),
process as (
	select
		p.place as path, e.process, count(*) as n, sum(e.bytes) as bytes, max(p.block) as block, exp(avg(ln(greatest(e.duration, 1)))) / 1e9 * count(*) as spent,
		sum(o.seconds) as other, max_by(e.id, e.duration, 8) as worst
	from each as e join places() as p using (file) join other as o using (directory, bin)
	where e.shares
	group by p.place, e.process
)
select
	path,
	sum(n)::hugeint as n,
	sum(bytes) / sum(n) as size,
	count(*) as processes,
	max(block) as block,
	any_value(blocks) as blocks,
	sum(spent) / sum(n) as each,
	sum(other) / sum(n) as other,
	list_slice(flatten(list(worst)), 1, 8) as calls,
	max(spent - other) as lost
from process join fought on fought.place = process.path
group by path
having sum(n) >= 16 and sum(spent) > 1.5 * sum(other)
