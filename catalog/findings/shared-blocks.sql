-- title:  Writers share a block or stripe
-- layer:  posix
-- limit:  writes that begin or end within a stripe, or a block of 4,096 bytes where stripes are not known, that another process writes too:
--   it has to be locked, called back, read and written again. They are said when they take half as long again as this run's other writes of
--   their size to that directory; 16 at least
-- says:   {path}: {n:count} writes of {size:size} on average by {processes:count} processes end in {blocks:count} pieces of {block:size} that others
--   write too, and take {each:seconds} each; others {other:seconds}
-- lost:   what those of the slowest process took more
-- sure:   0.6
-- fix:    give each rank whole blocks: align its part to {block:count} bytes, or write by a collective call with file domains so aligned
-- knob:   striping_unit, romio_lustre_co_ratio, H5Pset_alignment
-- seen:   Liao, Choudhary 2008 (file domains aligned to lock boundaries); Dickens, Logan 2010
with several as (
	select file from counters where layer = 'posix' and kind = 'write' and file is not null group by file having count(distinct process) > 1
),
written as (
	select c.id, c.process, c.file, c.file_offset, c.bytes, c.duration, p.block, p.place, p.directory
	from calls as c join several using (file) join {places} as p using (file)
	where c.layer = 'posix' and c.kind = 'write' and c.bytes > 0 and c.error = 0 and c.file_offset is not null
),
-- Blocks at the edges of writes, and those that several processes' writes end in.
edge as (
	select id, process, file, file_offset // block as piece from written where file_offset % block <> 0
	union all
	select id, process, file, (file_offset + bytes) // block from written where (file_offset + bytes) % block <> 0
),
fought as materialized (
	select file, piece from edge group by file, piece having min(process) <> max(process)
),
sharing as materialized (
	select id from edge semi join fought using (file, piece)
),
each as (
	select *, floor(log2(bytes))::int as bin, id in (from sharing) as shares
	from written
	where exists (from fought)
),
other as (
	select directory, bin, exp(avg(ln(greatest(duration, 1)))) / 1e9 as seconds from each where not shares group by directory, bin
),
process as (
	select
		e.place as path, e.process, count(*) as n, sum(e.bytes) as bytes, max(e.block) as block, exp(avg(ln(greatest(e.duration, 1)))) / 1e9 * count(*) as spent,
		sum(o.seconds) as other, max_by(e.id, e.duration, 8) as worst
	from each as e join other as o using (directory, bin)
	where e.shares
	group by e.place, e.process
)
select
	path,
	sum(n)::bigint as n,
	sum(bytes) / sum(n) as size,
	count(*) as processes,
	max(block) as block,
	(select count(*) from fought join {places} as p using (file) where p.place = process.path) as blocks,
	sum(spent) / sum(n) as each,
	sum(other) / sum(n) as other,
	list_slice(flatten(list(worst)), 1, 8) as calls,
	max(spent - other) as lost
from process
group by path
having sum(n) >= 16 and sum(spent) > 1.5 * sum(other)
