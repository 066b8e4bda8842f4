-- What the members of $collectives did, a member being one rank's call. Times are the slowest member's (members work side by side) and, named so,
-- sums. Communication is the library's own, inside the member.
with recursive {units},
{requests},
inner_call as not materialized (
	select * from calls where parent is not null
),
member as materialized (
	select id, collective, rank, duration, start, layer from calls where collective in (select unnest($collectives::bigint[]))
),
enclosing as materialized (
	select id, parent, layer = 'mpi' as talk from calls where id in (select parent from inner_call)
),
under as (
	select m.id as member, m.id, e.talk from member as m join enclosing as e on e.id = m.id
	union all
	select u.member, e.id, u.talk or e.talk from under as u join enclosing as e on e.parent = u.id
),
below as materialized (
	select u.member, c.id, c.layer, c.duration, not u.talk as first
	from inner_call as c join under as u on c.parent = u.id
	union all
	select id, id, layer, duration, true
	from member
),
talked as (
	select member, sum(duration) as time from below where layer = 'mpi' and first group by member
),
reached as (
	select b.member, max(r.time) as time, sum(r.accesses) as accesses, list(r.number) as servers
	from below as b join every_request as r on r.id = b.id
	group by b.member, b.id
),
stored as (
	select member, sum(time) as time, sum(accesses) as accesses, flatten(list(servers)) as servers from reached group by member
),
each as (
	select
		m.collective, count(*) as members, max(m.duration) as longest, arg_max(m.rank, {time: m.duration, first: -m.rank}) as slowest,
		sum(m.duration)::bigint as total, max(coalesce(t.time, 0))::bigint as talk, sum(coalesce(t.time, 0))::bigint as talk_sum,
		max(coalesce(s.time, 0))::bigint as storage, sum(coalesce(s.time, 0))::bigint as storage_sum,
		sum(coalesce(s.accesses, 0))::bigint as accesses, coalesce(list_distinct(flatten(list(s.servers))), []) as servers
	from member as m left join talked as t on t.member = m.id left join stored as s on s.member = m.id
	group by m.collective
)
select
	c.collective, c.layer, c.op, f.path, c.ranks_seen, c.ranks_expected, c.first_enter as start, c.last_leave - c.first_enter as elapsed,
	c.last_enter - c.first_enter as waiting, c.bytes, e.* exclude (collective)
from each as e join collectives as c using (collective) left join files as f on f.file = c.file
order by start, collective
