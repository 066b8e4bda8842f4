-- title:  The same bytes are read again
-- layer:  posix
-- limit:  a process asks for an offset and size that it has read before, of a file that nobody wrote in between
-- says:   {path}: {again:count} of {n:count} reads by {who} ask for bytes that the process has read before, {size:size} in all;
--   {seconds:seconds} of the slowest
-- lost:   of bytes read n times, (n - 1) / n of the time of these reads, of the slowest process
-- sure:   0.8
-- fix:    keep in memory what is read again, or read it in the order of its use[hdf5: . In HDF5 a chunk cache for
--   the chunks in use (H5Pset_chunk_cache)]
-- causes: transfer, requests, contention, unexplained, needless
-- when:   exists (select file from accesses() where stream is not null and layer = 'posix' and kind = 'read' group by file having bool_or(place =
--   'back') or sum(bytes) > max(highest) - min(lowest) or count(distinct process) > 1)
-- seen:   Darshan's analyses meant it (drishti P09, P10), with the comparison turned round
with threads as (
	select process, file, count(distinct stream) as threads from accesses() where kind = 'read' group by process, file
),
process as (
	select
		p.place as path, r.process, max(r.scale) as scale,
		sum(r.n) as n, sum(r.n - 1) as again, sum((r.n - 1) * r.bytes) as bytes,
		sum(r.time * (r.n - 1) / r.n / t.threads) / 1e9 as lost, max_by(r.worst, r.longest, 8) filter (r.n > 1) as worst
	from reread() as r join places() as p using (file) join threads as t on t.process = r.process and t.file = r.file
	group by p.place, r.process
	having again > 0
)
select
	path,
	(sum(n) * max(scale))::hugeint as n,
	(sum(again) * max(scale))::hugeint as again,
	sum(bytes) * max(scale) as size,
	if(count(*) = 1, 'one process', format('{} processes', count(*))) as who,
	max(lost) * max(scale) as seconds,
	list_slice(flatten(list(worst)), 1, 8) as calls,
	max(lost) * max(scale) as lost
from process
group by path
