-- title:  Small accesses, one after the other
-- layer:  posix
-- limit:  the program's own accesses smaller than `half` (store_costs(); 64 KiB where it is not known): mostly latency. Each is at or behind the end of the
--   one before in its file, so they can be joined
-- says:   {path}: {n:count} {what}s of {size:size} on average by {who}; each waits {latency:seconds}[ and moves its
--   bytes in {moving:seconds}][; {direct:count} of them went past the page cache (O_DIRECT), as {requests:count} requests of {request:size} to the
--   device]
-- lost:   the slowest thread's accesses, less the same bytes in pieces of nine times `half`, at most 16 MiB, one or more of each file.
--   Accesses count at most at the store's cost
-- sure:   0.9
-- fix:    gather them in a buffer{flushed} and {what} pieces of {piece:size}[ranks: ; where ranks share the file, by a collective call][fortran: . That
--   of gfortran's units: GFORTRAN_FORMATTED_BUFFER_SIZE=1048576 in the environment, for binary files GFORTRAN_UNFORMATTED_BUFFER_SIZE][. {past_cache}]
-- needs:  counters
-- causes: requests, contention, unexplained, transfer
-- seen:   Carns et al. 2011 (Darshan); Hockney 1994 for the size at which half of the rate is reached
with thread as (
	select
		path, what, process, stream, sum(n) as n, sum(bytes) as bytes, max(piece) as piece, max(latency) as latency, max(per_byte) as per_byte,
		flatten(max_by(worst, longest, 8))[:8] as worst, max(longest) as longest, bool_and(fitted) as fitted,
		sum(greatest(0, cost - bytes * per_byte - latency * least)) as lost
	from small_accesses()
	group by path, what, process, stream
),
-- Where the kernel was asked. A write past the cache goes to the device at once, and a read brings no page.
direct as (
	select q.place as path, k.kind as what, count(*) as n, sum(k.requests)::hugeint as requests, sum(k.request_bytes)::double / sum(k.requests) as request
	from kernel_calls() as k join places() as q using (file)
	where k.origin = 'device' and k.requests > 0 and (k.kind = 'write' or k.missed = 0 and k.ahead = 0) and k.bytes < 65536
		and k.file not in (from synced_by_open())
	group by all
)
select
	path,
	what,
	sum(thread.n)::hugeint as n,
	sum(bytes) / sum(thread.n) as size,
	if(count(distinct process) = 1, 'one process', format('{} processes', count(distinct process))) as who,
	max(latency) as latency,
	max(per_byte) * (sum(bytes) / sum(thread.n)) as moving,
	max(piece) as piece,
	if(bool_and(fitted), 0.9, 0.7) as sure,
	flatten(max_by(worst, longest, 8)) as calls,
	-- Their buffers gather 8 KiB and more, unless somebody empties them.
	if(
		what = 'write' and sum(bytes) / sum(thread.n) < 4096,
		'[cpp:  (std::endl and flush() empty that of the stream, a plain line feed does not)][fortran:  (flush() empties that of the unit)]'
			|| '[python:  (flush=True, buffering=0 or 1, and -u empty that of the file)][java:  (BufferedOutputStream)]',
		''
	) as flushed,
	any_value(d.n) as direct,
	any_value(d.requests) as requests,
	any_value(d.request) as request,
	case any_value(d.path is not null)
		when true then 'Without O_DIRECT the page cache gathers them' || if(what = 'read', ', and reads ahead', '')
	end as past_cache,
	max(lost) as lost
from thread left join direct as d using (path, what)
group by path, what
having sum(thread.n) > 1 and max(lost) > 0
