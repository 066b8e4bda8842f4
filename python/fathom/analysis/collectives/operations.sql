-- Each collective read or write of MPI-IO: who moved its bytes, how the file was dealt out to them, where its time went.
with parts as (
{parts}
),
below as (
{below}
),
units as (
{units}
),
carried as (
{carried}
),
-- The library's own communication, where it was recorded and is all of it.
exchanged as (
	select p.collective, sum(greatest(s.start + s.duration - greatest(s.start, p.last_enter), 0)) as exchange
	from parts as p join calls as s on s.parent = p.id
	where s.layer = 'mpi' and p.process in ({romio})
	group by p.collective
),
moved as (
	select
		collective,
		process,
		any_value(rank) as rank,
		count(*) filter (main) as calls,
		coalesce(sum(bytes) filter (main), 0) as bytes,
		count(*) filter (not main) as others,
		coalesce(sum(bytes) filter (not main), 0) as other_bytes,
		max(bytes) filter (main) as largest,
		sum(duration) as time,
		sum(early) as early
	from below
	group by collective, process
),
aggregators as (
	select
		collective,
		count(*) filter (m.calls > 0) as aggregators,
		count(distinct p.node) filter (m.calls > 0) as nodes,
		list(m.rank order by m.rank) filter (m.calls > 0) as ranks,
		min(m.bytes) filter (m.calls > 0) as least_bytes,
		max(m.bytes) as most_bytes,
		sum(m.bytes) as moved,
		sum(m.calls) as system_calls,
		max(m.calls) as rounds,
		max(largest) as chunk,
		sum(m.others) as back_calls,
		sum(m.other_bytes) as back_bytes,
		sum(m.time) as io,
		sum(m.early) as early
	from moved as m join processes as p using (process)
	group by collective
),
ranks as (
	select
		p.collective,
		any_value(p.kind) as kind,
		sum(p.bytes) as bytes,
		sum(p.duration) as time,
		sum(p.waited) as waited,
		-- each moved as much as it asked for: nobody moved anything for another
		bool_and(p.bytes = coalesce(m.bytes, 0)) as alone
	from parts as p left join moved as m using (collective, process)
	group by p.collective
),
carriers as (
	select
		collective,
		sum(bytes) as linked,
		sum(bytes) filter (aggregator <> process) as for_others,
		min(confidence) as confidence
	from carried
	group by collective
),
-- Nobody moved anything for another: links say so, or, where there are none, each moved as much as it asked for.
independent as (
	select collective
	from ranks left join carriers using (collective)
	where case when linked is null then alone else linked = bytes and for_others is null end
),
-- What ranks did that were not recorded is not known.
in_part as (
	select collective from collectives where ranks_seen < ranks_expected
),
together as (
	select collective from aggregators where aggregators > 0 and collective not in (from independent)
),
domains as (
{domains}
)
select
	o.collective,
	o.op,
	r.kind as operation,
	f.path,
	o.first_enter as start,
	o.last_leave - o.first_enter as elapsed,
	o.ranks_expected as ranks,
	o.ranks_seen,
	r.bytes::hugeint as bytes,
	if(n.collective is null, coalesce(a.aggregators, 0), null) as aggregators,
	if(n.collective is null, a.ranks, null) as aggregator_ranks,
	if(n.collective is null, coalesce(a.nodes, 0), null) as aggregator_nodes,
	u.cb_nodes_asked, u.cb_nodes, u.cb_config_list_asked, u.cb_config_list, u.cb_buffer_size,
	a.least_bytes::hugeint as aggregator_least_bytes,
	a.most_bytes::hugeint as aggregator_most_bytes,
	case
		when r.bytes = 0 then 'nothing'
		when a.aggregators is null or n.collective is not null then 'unknown'
		when o.collective in (from independent) then 'independent'
		else coalesce(d.domains, 'unknown')
	end as domains,
	d.aligned_bytes,
	d.stripe_bytes,
	a.chunk as chunk_bytes,
	coalesce(a.system_calls, 0)::bigint as system_calls,
	coalesce(a.rounds, 0) as rounds,
	coalesce(a.moved, 0)::hugeint as moved_bytes,
	coalesce(a.back_calls, 0)::bigint as back_calls,
	coalesce(a.back_bytes, 0)::hugeint as back_bytes,
	c.linked::hugeint as linked_bytes,
	if(n.collective is null, coalesce(c.for_others, 0), null)::hugeint as for_others_bytes,
	c.confidence,
	r.time::hugeint as time,
	if(n.collective is null, greatest(r.waited - coalesce(a.early, 0), 0), null)::hugeint as wait,
	x.exchange::hugeint as exchange,
	coalesce(a.io, 0)::hugeint as io
from collectives as o
join ranks as r using (collective)
left join aggregators as a using (collective)
left join units as u using (collective)
left join domains as d using (collective)
left join carriers as c using (collective)
left join exchanged as x using (collective)
left join in_part as n using (collective)
left join files as f on f.file = o.file
order by elapsed desc, o.collective
