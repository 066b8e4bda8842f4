-- title:  A rank is slower than the others at the same accesses
-- layer:  node
-- limit:  a rank's accesses take twice the median process's time, and 1.5 times that of three quarters of them. Its typical
--   access (geometric mean) takes 1.5 times theirs. Compared are accesses of one size, kind and server, of at least three
--   processes
-- says:   {who} on {host} took {times:times} as long as others for the same {n:count} accesses: {seconds:seconds} instead of {expected:seconds}
-- lost:   its time less that of as many accesses of the median process
-- sure:   0.7
-- fix:    look at {host}: `fathom run --agent` shows its load; leave it out of the job, or give this rank less to do
-- needs:  counters, ranks
-- seen:   Chang, Jin, Bauer 2016; Isaila et al. on stragglers in two-phase I/O
with server_file as (from server_files()),
each as (
	select s.server, a.process, a.layer, a.kind, a.bin, sum(a.n) as n, sum(a.time) as time, sum(a.log_time) as log_time
	from accesses() as a join server_file as s using (file)
	group by all
),
usual as (
	select server, layer, kind, bin, median(time / n) as each_time, median(log_time / n) as each_log
	from each
	group by all
	having count(*) >= 3
),
of_process as (
	select process, sum(n)::hugeint as n, sum(time) / 1e9 as seconds, sum(n * each_time) / 1e9 as expected,
		exp(sum(log_time - n * each_log) / sum(n)) as typical
	from each join usual using (server, layer, kind, bin)
	group by process
),
compared as (
	select *, seconds / expected as times, quantile_cont(seconds / expected, 0.75) over () as most_others
	from of_process
),
suspects as materialized (
	select *, seconds - expected as lost
	from compared
	where times >= 2 and typical >= 1.5 and times >= 1.5 * most_others and lost > greatest(0.01, (select duration / 1e11 from runs))
	order by lost desc
	limit 8
)
select
	if(p.rank is null, format('process {}', p.pid), format('rank {}', p.rank)) as who,
	coalesce(nullif(h.host, 'unknown'), 'its node') as host,
	s.times,
	s.n,
	s.seconds,
	s.expected,
	s.lost,
	e.calls
from suspects as s join processes as p using (process) left join nodes as h using (node) left join longest_own_calls('suspects') as e using (process)
order by s.lost desc
