-- title:  Small accesses, one after the other
-- layer:  posix
-- limit:  the program's own accesses smaller than `half` (store_costs(); 64 KiB where it is not known): mostly latency. Each is at or behind the end of the
--   one before in its file, so they can be joined
-- says:   {path}: {n:count} {what}s of {size:size} on average by {who}; each waits {latency:seconds} and moves its
--   bytes in {moving:seconds}
-- lost:   the slowest thread's accesses, less the same bytes in pieces of nine times `half`, at most 16 MiB, one or more of each file.
--   Accesses count at most at the store's cost
-- sure:   0.9
-- fix:    gather them in a buffer and {what} pieces of {piece:size}[ranks: ; where ranks share the file, by a collective call]
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
)
select
	path,
	what,
	sum(n)::hugeint as n,
	sum(bytes) / sum(n) as size,
	if(count(distinct process) = 1, 'one process', format('{} processes', count(distinct process))) as who,
	max(latency) as latency,
	max(per_byte) * (sum(bytes) / sum(n)) as moving,
	max(piece) as piece,
	if(bool_and(fitted), 0.9, 0.7) as sure,
	flatten(max_by(worst, longest, 8)) as calls,
	max(lost) as lost
from thread
group by path, what
having sum(n) > 1 and max(lost) > 0
