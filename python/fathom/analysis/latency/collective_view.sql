-- The collectives that the units or calls inside them are of, the $top that lasted longest; 0: all. A member is one rank's call. Times are the
-- slowest member's (members work side by side) and, named so, sums. Communication is the library's own, inside the member.
with recursive {units},
{requests},
inner_call as not materialized (
	select * from calls where parent is not null
),
shown as materialized (
	select c.*
	from collectives as c
	where c.collective in (select collective from one where collective is not null and unit in (select id from unit as o where {shown}))
	order by c.last_leave - c.first_enter desc, c.collective
	{top}
),
member as materialized (
	select c.id, c.collective, c.rank, c.duration, c.start, c.layer from calls as c semi join shown using (collective)
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
	select member, sum(time) as time, sum(accesses) as accesses, list_distinct(flatten(list(servers))) as servers from reached group by member
),
each as (
	select
		m.collective, count(*) as members, max(m.duration) as longest, arg_max(m.rank, {time: m.duration, first: -m.rank}) as slowest,
		avg(m.duration) as mean,
		max(coalesce(t.time, 0)) as talk, sum(coalesce(t.time, 0)) as talk_sum,
		max(coalesce(s.time, 0)) as storage, sum(coalesce(s.time, 0)) as storage_sum,
		sum(coalesce(s.accesses, 0)) as accesses, len(list_distinct(flatten(list(s.servers)))) as servers
	from member as m left join talked as t on t.member = m.id left join stored as s on s.member = m.id
	group by m.collective
)
select
	s.collective, s.layer, s.op, f.path, s.ranks_seen, s.ranks_expected, s.first_enter as start, s.last_leave - s.first_enter as elapsed,
	s.last_enter - s.first_enter as waiting, e.longest, e.slowest, e.mean, e.talk, e.talk_sum::bigint as talk_sum, e.storage::bigint as storage,
	e.storage_sum::bigint as storage_sum, e.accesses::bigint as accesses, coalesce(e.servers, 0) as servers, s.bytes
from shown as s join each as e using (collective) left join files as f on f.file = s.file
order by s.first_enter, s.collective
