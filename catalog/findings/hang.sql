-- title:  Ranks wait in a collective call for others that never came
-- layer:  mpiio
-- limit:  the run ended while ranks were in a collective call that others of the file never began. They waited 1 s at least, and
--   three times the longest wait before. A rank inside a read or write waits for storage and does not count. An open, or an
--   unfinished call of HDF5 or netCDF, counts if two ranks wait and none such was independent
-- says:   {waiting:ranks_of} {wait} in {call}{of}{line} since {since:seconds}, for {seconds:seconds} until the end; {absent:ranks_of} never
--   came: {last}
-- lost:   from the first waiting rank's begin of the call to the end of the last. No cause of the account: most of these calls are MPI's
-- sure:   0.9
-- fix:    let all ranks of the file's communicator make the call, or none. Look for a return, an error or a branch of
--   {absent:ranks_of} before it
-- when:   exists (from calls where state = 'unfinished')
-- seen:   Open MPI#7414; netcdf-c#1831; PnetCDF#238; UnifyFS#762
with open_at_end as materialized (from calls_open_at_end()),
asked as (
	select e.*, concat_ws(' ', e.collective, e.layer, e.op, if(e.collective is null, e.file, null)) as which
	from open_at_end as e join ops as o using (layer, op)
	where e.rank is not null
		and if(o.collective, o.kind = 'open' or e.collective is not null, list_contains(o.fields, 'collective'))
		and not exists (
			select 1 from open_at_end as i where i.stream = e.stream and i.depth > e.depth and is_system(i.layer)
		)
		and not exists (
			select 1
			from calls as c
			where c.process = e.process and c.object = e.object and c.layer = e.layer and c.op = e.op and c.state = 'done' and c.collective is null
		)
),
-- Of collective calls inside each other (HDF5's, MPI-IO's) the outermost that is known to lack ranks.
meeting as (
	select
		which, a.collective, any_value(a.layer) as layer, any_value(a.op) as op, any_value(a.file) as file,
		min(a.depth) as depth, min(a.start) as start, max(a.stop) as stop, list(distinct a.rank order by a.rank) as waiting,
		max_by(a.id, a.stop - a.start, 8) as calls
	from asked as a left join collectives as g using (collective)
	where g.ranks_seen < g.ranks_expected or not g.agreed or a.collective is null
	group by which, a.collective
	having a.collective is not null or count(distinct a.rank) > 1
	-- Where ranks are in different calls, those that are more.
	qualify row_number() over (partition by coalesce(a.collective::varchar, which) order by len(waiting) desc, which) = 1
),
arrived as (
	select m.which, c.process from calls as c join meeting as m using (collective, layer, op)
	union all
	-- Where nothing joins them: who made as many.
	select which, process
	from (
		select m.which, c.process, bool_or(list_contains(m.waiting, c.rank)) as waits, count(*) as n
		from calls as c join meeting as m using (file, layer, op)
		where m.collective is null
		group by m.which, c.process
	)
	qualify n >= min(n) filter (waits) over (partition by which)
),
-- All ranks that have the file open together; of an open, all of the job.
member as (
	select distinct m.which, p.process, p.rank
	from meeting as m
	join collectives as g using (collective)
	join objects as o on o.group_hash = g.group_hash and o.group_ordinal = g.open_ordinal
	join processes as p on p.process = o.process
	where p.rank is not null
	union all
	select m.which, p.process, p.rank
	from meeting as m, processes as p
	where m.collective is null and p.rank is not null
		and (m.file is null or p.process in (select o.process from objects as o where o.file = m.file and o.communicator_size > 1))
),
absent as materialized (
	select b.*, m.stop
	from member as b join meeting as m using (which)
	where not list_contains(m.waiting, b.rank) and (m.which, b.process) not in (from arrived)
),
-- Where each of them was last: in a call, or after one, of its first thread; what MPI's end does to a rank that is asked to end comes after.
latest as (
	select
		a.which, a.process, a.rank,
		max_by(struct_pack(layer := c.layer, op := c.op, file := c.file, site := c.site, stop := c.start + c.duration, is_open := c.state = 'unfinished'), c.start)
			as call
	from absent as a join processes as p using (process) left join calls as c
		on c.process = a.process and c.thread = p.pid and c.depth = 0 and c.layer <> 'fathom' and c.start < a.stop - 1000000
	group by a.which, a.process, a.rank
),
last_place as (
	select
		which, rank,
		case
			when call.op is null then 'it made no call'
			when call.is_open then 'it is in ' || call.op
			else 'its last call was ' || call.op
		end || coalesce(' of ' || f.path, '') || coalesce(' (' || parse_filename(s.source) || ':' || s.line || ')', '') as spot,
		if(call.is_open, null, call.stop / 1e9) as ended
	from latest left join files as f on f.file = call.file left join sites as s on s.site = call.site
),
whereabouts as (
	select
		which, list(distinct rank order by rank) as absent, count(distinct spot) as spots, commonest(spot) as spot, max(ended) as ended
	from last_place
	group by which
),
-- The line that the waiting call was made from: known of outermost calls.
made_from as (
	select m.which, any_value(parse_filename(s.source) || ':' || s.line) as line
	from meeting as m join asked as a using (which) join open_at_end as o on o.stream = a.stream and o.depth <= a.depth join sites as s on s.site = o.site
	group by m.which
),
before as (
	select coalesce(max(last_enter - first_enter), 0) as longest from collectives where ranks_seen = ranks_expected
)
select
	m.waiting,
	if(len(m.waiting) = 1, 'waits', 'wait') as wait,
	m.op as call,
	coalesce(' of ' || f.path, '') as of,
	coalesce(' (' || l.line || ')', '') as line,
	m.start / 1e9 as since,
	(m.stop - m.start) / 1e9 as seconds,
	w.absent,
	w.spot
		|| coalesce(format(', until {:.3g} s', w.ended), '')
		|| if(w.spots > 1, format(' (so most of them, others at {} other places)', w.spots - 1), '') as last,
	if(m.collective is null, 0.5, 0.9) as sure,
	m.calls,
	(m.stop - m.start) / 1e9 as lost
from meeting as m join whereabouts as w using (which) left join made_from as l using (which) left join files as f using (file), before as b
where m.stop - m.start > greatest(1000000000, 3 * b.longest)
	-- Inside another one that hangs.
	and not exists (
		select 1
		from meeting as o join asked as x on x.which = o.which join asked as y on y.which = m.which and y.stream = x.stream
		where o.which <> m.which and x.depth < y.depth
	)
