-- title:  Bulk data through C streams
-- layer:  stdio
-- limit:  a stream carries a MiB and more in small calls, and large accesses would be faster at the store's cost. Large calls a stream passes
--   on as they are; its buffer gathers a page
-- says:   {path}: {size:size} by {who} through C streams, {each:size} a call: {seconds:seconds} of the slowest{beside}, in large accesses {other:seconds}
-- lost:   what the slowest thread's buffer took, and its small calls without formatting. Less the same bytes in pieces of which a tenth is latency,
--   at most 16 MiB, and one for each file at least
-- sure:   0.8
-- fix:    large pieces past the stream[python: , by file.write(array), not by numpy's tofile and fromfile][c|cpp|fortran: , by {what}() itself.
--   Or give the stream a larger buffer before its first call: setvbuf(stream, malloc({buffer}), _IOFBF, {buffer}). With NULL in place of
--   malloc glibc keeps its own size]
-- needs:  counters
-- causes: library, requests, contention, unexplained, transfer
-- when:   (select coalesce(sum(bytes), 0) from counters where layer = 'stdio' and kind in ('read', 'write')) >= 1048576
-- seen:   Carns et al. 2011 (Darshan); drishti S01 counts the share without its cost
with large as (
	-- Of calls that the buffer passes on a few slow ones do not count: what they waited for is not their size.
	select file, kind, process, stream, n, bytes, least(time, n * exp(log_time / n)) / 1e9 as seconds, 0 as formatted
	from accesses() where layer = 'stdio' and bin >= 12
),
gathered as (
	select * from large
	union all
	select file, kind, process, stream, n, bytes, pages * page + others, formatted from stream_pages() where pages > 0
),
worst as (
	select file, kind, process, stream, max_by(worst, longest, 8) as worst from accesses() where layer = 'stdio' group by all
),
thread as (
	select
		p.place as path, a.kind as what, a.process, a.stream, sum(a.n) as n, sum(a.bytes) as bytes, sum(a.seconds) as seconds,
		count(distinct a.file) as files, sum(a.formatted) as formatted, max(large_piece(s.half)) as piece, max(s.latency) as latency, max(s.per_byte) as per_byte,
		flatten(list(w.worst)) as worst
	from gathered as a join places() as p using (file) join store_costs() as s using (file, kind)
		left join worst as w on w.file = a.file and w.kind = a.kind and w.process = a.process and w.stream is not distinct from a.stream
	where a.bytes / a.n < large_piece(s.half)
	group by p.place, a.kind, a.process, a.stream
),
-- Also where nothing is lost the time is what it took.
costed as (
	select *, least(seconds, bytes * per_byte + latency * greatest(files, ceil(bytes / piece))) as other from thread
)
select
	path,
	what,
	'stdio' as cell_layer,
	if(count(distinct process) = 1, 'one process', format('{} processes', count(distinct process))) as who,
	sum(bytes) as size,
	sum(bytes) / sum(n) as each,
	max(seconds) as seconds,
	if(sum(formatted) > 0, ' without formatting', '') as beside,
	max_by(other, seconds) as other,
	(2 ** ceil(log2(max(piece))))::bigint::varchar as buffer,
	list_slice(flatten(list(worst)), 1, 8) as calls,
	max(seconds - other) as lost
from costed
group by path, what
having sum(bytes) >= 1048576 and max(piece) > 4096
