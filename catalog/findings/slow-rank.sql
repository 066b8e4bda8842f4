-- title:  A rank is slower than the others at the same accesses
-- layer:  node
-- limit:  a rank's accesses take twice the median process's time, and 1.5 times that of three quarters of them. Its typical
--   access (geometric mean) takes 1.5 times theirs. Compared are accesses of one size and kind in one directory of one server
--   (of Lustre: on the same OSTs), of at least three processes. So a slow OST is not blamed on ranks. Slow ranks of one
--   node are told together
-- says:   {who} on {host} took {at_most}{times:times} as long as others for the same {n:count} accesses: {seconds:seconds} instead of
--   {expected:seconds}[; that is rank {slowest}]
-- lost:   the slowest one's time less that of as many accesses of the median process
-- sure:   0.7
-- fix:    look at {host}: `fathom run --agent` shows the load; leave it out of the job, or give {whom} less to do
-- needs:  counters, ranks
-- causes: contention, requests, unexplained, transfer, names, sync
-- seen:   Chang, Jin, Bauer 2016; Isaila et al. on stragglers in two-phase I/O
with server_file as (
	select s.file, s.server, regexp_extract(f.path, '^(.*)/[^/]*$', 1) as directory from server_files() as s join files as f using (file)
),
each as (
	select s.server, s.directory, a.process, a.layer, a.kind, a.bin, sum(a.n) as n, sum(a.time) as time, sum(a.log_time) as log_time
	from accesses() as a join server_file as s using (file)
	group by all
),
usual as (
	select server, directory, layer, kind, bin, median(time / n) as each_time, median(log_time / n) as each_log
	from each
	group by all
	having count(*) >= 3
),
of_process as (
	select process, sum(n)::hugeint as n, sum(time) / 1e9 as seconds, sum(n * each_time) / 1e9 as expected,
		exp(sum(log_time - n * each_log) / sum(n)) as typical
	from each join usual using (server, directory, layer, kind, bin)
	group by process
),
compared as (
	select *, seconds / expected as times, quantile_cont(seconds / expected, 0.75) over () as most_others
	from of_process
),
slow as (
	select c.*, seconds - expected as lost, p.rank, p.pid, p.node
	from compared as c join processes as p using (process)
	where times >= 2 and typical >= 1.5 and times >= 1.5 * most_others and lost > greatest(0.01, (select duration / 1e11 from runs))
),
-- Each node's slowest stands for the others that are slow there.
suspects as materialized (
	select *, count(*) over here as slow_here, list(rank) over (here order by rank rows between unbounded preceding and unbounded following) as ranks
	from slow
	window here as (partition by node)
	qualify row_number() over (here order by lost desc) = 1
	order by lost desc
	limit 8
)
select
	case
		when slow_here > 1 and ranks[1] is not null
			then format('{} ranks ({})', slow_here, array_to_string(ranks[:5], ', ') || if(slow_here > 5, ', …', ''))
		when slow_here > 1 then format('{} processes', slow_here)
		when s.rank is null then format('process {}', s.pid)
		else format('rank {}', s.rank)
	end as who,
	coalesce(nullif(h.host, 'unknown'), if(slow_here > 1, 'their nodes', 'its node')) as host,
	if(slow_here > 1, 'up to ', '') as at_most,
	if(slow_here > 1, s.rank, null) as slowest,
	if(slow_here > 1, 'these ranks', 'this rank') as whom,
	s.times,
	s.n,
	s.seconds,
	s.expected,
	s.lost,
	e.calls
from suspects as s left join nodes as h using (node) left join longest_own_calls('suspects') as e using (process)
order by s.lost desc
