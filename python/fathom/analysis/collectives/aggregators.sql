-- Each aggregator of each file and function: what it moved, of its own and of which other ranks.
with parts as (
{parts}
),
below as (
{below}
),
carried as (
{carried}
),
moved as (
	select collective, process, count(*) as calls, sum(bytes) as bytes, sum(duration) as time
	from below
	where main
	group by collective, process
),
served as (
	select
		o.file,
		o.op,
		c.aggregator as process,
		sum(c.bytes) as linked,
		sum(c.bytes) filter (c.process = c.aggregator) as own,
		list(distinct c.rank order by c.rank) as ranks,
		min(c.confidence) as confidence,
		-- of others it may have moved more
		bool_or(o.ranks_seen < o.ranks_expected) as in_part
	from carried as c join collectives as o using (collective)
	group by o.file, o.op, c.aggregator
),
each as (
	select
		o.file,
		o.op,
		m.process,
		count(*) as operations,
		sum(m.calls) as system_calls,
		sum(m.bytes) as bytes,
		sum(m.time) as time
	from moved as m join collectives as o using (collective)
	group by o.file, o.op, m.process
)
select
	p.rank,
	p.process,
	n.host,
	e.op,
	f.path,
	e.operations,
	e.system_calls::bigint as system_calls,
	e.bytes::hugeint as bytes,
	s.linked::hugeint as linked_bytes,
	case when s.linked is not null and not s.in_part then coalesce(s.own, 0)::bigint end as own_bytes,
	if(s.in_part, null, s.ranks) as of_ranks,
	if(s.in_part, null, s.confidence) as confidence,
	e.time::hugeint as time
from each as e
join processes as p using (process)
left join nodes as n using (node)
left join files as f on f.file = e.file
left join served as s on s.file is not distinct from e.file and s.op = e.op and s.process = e.process
order by e.bytes desc, f.path, e.op, p.rank
