-- What each server was asked, from counters: of every level that knows files. A directory that was asked hardly
-- anything (/etc is read at the start) stands for no server of the job's storage, so the mean is without it.
with {latency/servers},
sums as (
	select
		server,
		coalesce(sum(c.bytes) filter (c.kind = 'read'), 0) as read,
		coalesce(sum(c.bytes) filter (c.kind = 'write'), 0) as written,
		sum(c.time) as busy,
		sum(c.calls) as calls,
		max(c.longest) as longest
	from (select * from asked where {selected}) as c
	group by server
)
select
	server, read::hugeint as read, written::hugeint as written, busy::hugeint as busy, calls::bigint as calls, longest::bigint as longest,
	busy / nullif(avg(busy) filter (weighs) over (), 0) as "of the mean"
from (select *, (select traced from served) or busy >= {hardly} * max(busy) over () as weighs from sums)
order by busy desc, server
