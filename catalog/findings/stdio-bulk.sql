-- title:  Bulk data through C streams
-- layer:  stdio
-- limit:  a stream carries a MiB and more in small calls, and large accesses would be faster at the store's cost. Large calls a stream passes
--   on as they are; its buffer gathers a page
-- says:   {path}: {size:size} by {who} through C streams, {each:size} a call: {seconds:seconds} of the slowest, in large accesses {other:seconds}
-- lost:   the slowest thread's calls, less the same bytes in pieces of which a tenth is latency, at most 16 MiB
-- sure:   0.8
-- fix:    {what} large pieces with {what}() itself, or give the stream a larger buffer: setvbuf(stream, NULL, _IOFBF, {buffer})
-- needs:  counters
-- causes: library, requests, contention, unexplained, transfer
-- seen:   Carns et al. 2011 (Darshan); drishti S01 counts the share without its cost
with thread as (
	select
		p.place as path, a.kind as what, a.process, a.stream, sum(a.n) as n, sum(a.bytes) as bytes,
		-- Of calls that the buffer does not gather a few slow ones do not count: what they waited for is not their size.
		sum(if(a.bin < 12, a.time, least(a.time, a.n * exp(a.log_time / a.n)))) / 1e9 as seconds,
		max(large_piece(s.half)) as piece, max(s.latency) as latency, max(s.per_byte) as per_byte,
		max_by(a.worst, a.longest, 8) as worst
	from accesses() as a join places() as p using (file) join store_costs() as s using (file, kind)
	where a.layer = 'stdio' and a.bytes / a.n < large_piece(s.half)
	group by p.place, a.kind, a.process, a.stream
),
-- Also where nothing is lost the time is what it took.
costed as (
	select *, least(seconds, bytes * per_byte + latency * ceil(bytes / piece)) as other from thread
)
select
	path,
	what,
	if(count(distinct process) = 1, 'one process', format('{} processes', count(distinct process))) as who,
	sum(bytes) as size,
	sum(bytes) / sum(n) as each,
	max(seconds) as seconds,
	max_by(other, seconds) as other,
	(2 ** ceil(log2(max(piece))))::bigint::varchar as buffer,
	list_slice(flatten(list(worst)), 1, 8) as calls,
	max(seconds - other) as lost
from costed
group by path, what
having sum(bytes) >= 1048576 and max(piece) > 4096
