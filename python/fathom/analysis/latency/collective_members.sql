-- What the members of $collectives did, a member being one rank's call. Times are the slowest member's (members work side by side) and, named so,
-- sums. Communication is the library's own, inside the member. What is inside lies in the same outermost call, so other calls are left out at once.
with recursive {units},
{requests},
member as materialized (
	select id, process, call, collective, rank, duration, if(layer = 'mpi', duration, 0) as talk from calls where collective in (select unnest($collectives::bigint[]))
),
inner_call as materialized (
	select id, parent, if(layer = 'mpi', duration, 0) as talk from calls semi join member using (process, call) where parent is not null
),
enclosing as materialized (
	select id, parent, layer = 'mpi' as talk from calls semi join member using (process, call) where id in (select parent from inner_call)
),
under as (
	select m.id as member, m.id, e.talk from member as m join enclosing as e on e.id = m.id
	union all
	select u.member, e.id, u.talk or e.talk from under as u join enclosing as e on e.parent = u.id
),
below as materialized (
	select u.member, c.id, if(u.talk, 0, c.talk) as talk
	from inner_call as c join under as u on c.parent = u.id
	union all
	select id, id, talk
	from member
),
talked as (
	select member, sum(talk) as time from below group by member
),
reached as materialized (
	select b.member, b.id, r.number, r.time, r.accesses from below as b join every_request as r on r.id = b.id
),
stored as (
	select member, sum(time) as time, sum(accesses) as accesses
	from (select member, max(time) as time, sum(accesses) as accesses from reached group by member, id)
	group by member
),
held_by as (
	select m.collective, list(distinct r.number) as servers from reached as r join member as m on m.id = r.member group by m.collective
),
each as (
	select
		m.collective, count(*) as members, max(m.duration) as longest, arg_max(m.rank, {time: m.duration, first: -m.rank}) as slowest,
		sum(m.duration) as total, max(t.time)::hugeint as talk, sum(t.time) as talk_sum,
		max(coalesce(s.time, 0))::hugeint as storage, sum(coalesce(s.time, 0)) as storage_sum,
		sum(coalesce(s.accesses, 0)) as accesses
	from member as m join talked as t on t.member = m.id left join stored as s on s.member = m.id
	group by m.collective
)
select
	c.collective, c.layer, c.op, f.path, c.ranks_seen, c.ranks_expected, c.first_enter as start, c.last_leave - c.first_enter as elapsed,
	c.last_enter - c.first_enter as waiting, c.bytes, e.* exclude (collective), coalesce(h.servers, []) as servers
from each as e join collectives as c using (collective) left join held_by as h using (collective) left join files as f on f.file = c.file
order by start, collective
