-- A lake's tables (`fathom landscape LAKE`): the jobs of many days. Lost are node seconds: run time that a job's findings would win, times its nodes.

-- What each job lost, by the cause and the mount that its slowest process's seconds went to, all but moving the bytes: its loss is split as these are.
create or replace macro lake_losses() as table
with cell as (
	select id, cause, mount, file_system, seconds, seconds / sum(seconds) over (partition by id) as part
	from causes
	where cause <> 'transfer' and seconds > 0
)
select
	j.id, j.date, j.name, j.user, j.program, j.job, c.cause, c.mount, c.file_system, j.lost_node_seconds * coalesce(c.part, 1) as lost,
	coalesce(c.seconds, 0) * j.nodes as taken
from jobs as j left join cell as c using (id);

-- Who loses most, the worst first: by a column of lake_losses(). `share`: of all that is lost; `cause`: that most of it goes to; `rule`: the
-- finding that is the largest in jobs which lose most.
create or replace macro lake_losers(by_what) as table
with loss as (
	select by_what as what, * from lake_losses()
),
cause_of as (
	select what, arg_max(cause, lost) as cause, max(lost) as cause_lost
	from (select what, cause, sum(lost) as lost from loss where cause is not null group by what, cause)
	where lost > 0
	group by what
),
job_of as (
	select distinct what, id from loss
),
sums as (
	select
		what, count(*) as jobs, sum(j.seconds * j.nodes) as node_seconds, sum(j.io_seconds * j.nodes) as io_node_seconds,
		sum(j.bytes_read + j.bytes_written) as bytes
	from job_of join jobs as j using (id)
	group by what
),
rule_of as (
	select what, arg_max(rule, lost) as rule
	from (select what, j.lost_by as rule, sum(j.lost_node_seconds) as lost from job_of join jobs as j using (id) where rule is not null group by all)
	group by what
),
lost as (
	select what, sum(lost) as lost from loss group by what
)
select
	s.what, s.jobs, l.lost as lost_node_seconds, l.lost / nullif(sum(l.lost) over (), 0) as share, s.node_seconds, s.io_node_seconds, s.bytes, c.cause,
	c.cause_lost as cause_node_seconds, r.rule
from sums as s join lost as l using (what) left join cause_of as c using (what) left join rule_of as r using (what)
order by lost_node_seconds desc, io_node_seconds desc, s.what;

-- The jobs that lose most.
create or replace macro lake_worst_jobs() as table
select
	id, name, job, user, program, nodes, ranks, started, seconds, io_seconds, io_most_seconds, io_share, bytes_read, bytes_written, lost_seconds,
	lost_node_seconds, cause, lost_by as rule, path
from jobs
order by lost_node_seconds desc, io_seconds desc, id;

-- What is lost by day, the first day first.
create or replace macro lake_days() as table
with cause_of as (
	select date, arg_max(cause, lost) as cause
	from (select date, cause, sum(lost) as lost from lake_losses() where cause is not null group by date, cause)
	where lost > 0
	group by date
)
select
	j.date, count(*) as jobs, count(distinct j.user) as users, sum(seconds * nodes) as node_seconds, sum(io_seconds * nodes) as io_node_seconds,
	sum(bytes_read) as bytes_read, sum(bytes_written) as bytes_written, sum(lost_node_seconds) as lost_node_seconds, any_value(c.cause) as cause
from jobs as j left join cause_of as c on c.date = j.date
group by j.date
order by j.date;

-- Whose loss of the last day is far above the median of the days before on which he had jobs; who is new has no median. Columns: kind (user, program),
-- what, jobs, lost_node_seconds, days, median_node_seconds, times. Those that lose most more than usual come first. `part`: of the day's
-- loss below which it is none; `far`: times the median.
create or replace macro lake_risen(part, far) as table
with one as (
	select 'user' as kind, j.user as what, date, lost_node_seconds as lost from jobs as j
	union all
	select 'program', program, date, lost_node_seconds from jobs
),
day as (
	select kind, what, date, count(*) as jobs, sum(lost) as lost from one where what is not null group by all
),
newest as (select max(date) as date, sum(lost_node_seconds) as lost from jobs where date = (select max(date) from jobs)),
before as (
	select kind, what, count(*) as days, median(lost) as median_node_seconds
	from day
	where date < (select date from newest)
	group by all
)
select
	d.kind, d.what, d.jobs, d.lost as lost_node_seconds, coalesce(b.days, 0) as days, b.median_node_seconds,
	d.lost / nullif(b.median_node_seconds, 0) as times
from day as d join newest as n on n.date = d.date left join before as b using (kind, what)
where (select count(distinct date) from jobs) > 1 and d.lost >= part * n.lost and d.lost > far * coalesce(b.median_node_seconds, 0)
order by d.lost - coalesce(b.median_node_seconds, 0) desc, kind desc, what;

-- What each job's accesses took at each server, beside what like ones take at its peers: the same direction and size (a factor of four), the OSTs of
-- the same mount, or servers of the same file system. `times`: null where it has no peer, or too few bytes (`few`).
create or replace macro lake_accesses(few) as table
with access as (
	select
		id, server, coalesce(mount, '') as mount, file_system, kind, begins, ends, calls, bytes, seconds, seconds / bytes as per_byte,
		if(server like 'OST %', mount, file_system) as peers, floor(log2(bytes / greatest(calls, 1)) / 2) as class
	from servers
	where bytes > 0
),
of_server as (
	select kind, peers, class, server, mount, median(per_byte) as per_byte
	from access
	where bytes >= few
	group by all
),
usual as (
	select kind, peers, class, median(per_byte) as per_byte from of_server group by all having count(*) >= 3
)
select a.*, if(a.bytes >= few, a.per_byte / u.per_byte, null) as times
from access as a left join usual as u on u.kind = a.kind and u.class = a.class and u.peers is not distinct from a.peers;

-- Servers over all jobs, slow ones first: those that many jobs saw (`enough`) before those that few did. `times`: what half of the jobs saw there, and
-- more, of what like accesses take at its peers; `jobs_slow`: that saw it above `slow`, in windows from `slow_from` to `slow_to`.
create or replace macro lake_servers_slow(few, enough, slow) as table
with of_job as (
	select
		server, mount, id, any_value(file_system) as file_system, sum(bytes) as bytes, sum(seconds) as seconds, median(times) as times,
		min(begins) filter (times >= slow) as slow_from, max(ends) filter (times >= slow) as slow_to
	from lake_accesses(few)
	group by server, mount, id
),
sums as (
	select
		server, nullif(mount, '') as mount, any_value(file_system) as file_system, count(*) as jobs, count(times) as judged,
		count(*) filter (times >= slow) as jobs_slow, median(times) as times, sum(bytes) as bytes, sum(seconds) as seconds,
		sum(seconds) / sum(bytes) as seconds_per_byte, min(slow_from) as slow_from, max(slow_to) as slow_to
	from of_job
	group by server, mount
)
select * exclude (judged) from sums order by judged >= enough desc, times desc nulls last, seconds desc, server;

-- A job beside the runs of the same program before it: `like_ranks`: of so many, else of any number. One row for each measure: what, value,
-- runs, median, times.
create or replace macro lake_beside(job_id, like_ranks) as table
with subject as (
	select * from jobs where id = job_id
),
before as (
	select j.*
	from jobs as j, subject as s
	where j.program = s.program and j.id <> s.id and j.started < s.started and (like_ranks is null or j.ranks = like_ranks)
),
cause as (
	select id, cause, sum(seconds) as seconds from causes group by all
),
measure as (
	select id, unnest(['run', 'I/O', 'I/O of the slowest', 'open', 'read', 'write', 'close', 'other', 'lost']) as what,
		unnest([seconds, io_seconds, io_most_seconds, open_seconds, read_seconds, write_seconds, close_seconds, other_seconds, lost_seconds]) as value,
		'seconds' as unit, 0 as place
	from (from subject union all from before)
	union all
	select id, unnest(['read', 'written']), unnest([bytes_read, bytes_written]), 'bytes', 1
	from (from subject union all from before)
	union all
	select j.id, c.cause, coalesce(v.seconds, 0), 'cause', 2
	from (from subject union all from before) as j, (select distinct cause from cause where id = job_id) as c
		left join cause as v on v.id = j.id and v.cause = c.cause
)
select
	what, unit, max(value) filter (id = job_id) as value, count(*) filter (id <> job_id) as runs, median(value) filter (id <> job_id) as median,
	max(value) filter (id = job_id) / nullif(median(value) filter (id <> job_id), 0) as times
from measure
group by what, unit, place
order by place, value desc, what;
