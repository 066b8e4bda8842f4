-- title:  More ranks than processors
-- layer:  node
-- limit:  more ranks ran at once on a node than processors they may run on. They waited for one for a tenth of the time that they wanted one.
--   Ranks that wait for messages keep a processor busy, so each exchange takes turns of the scheduler
-- says:   {ranks:count} ranks on {host} share {processors:count} processors: they waited for one {waited:percent} of the time that they wanted one;
--   {seconds:seconds} of the slowest rank's I/O, first of all of its communication
-- lost:   communication and waiting inside the slowest rank's I/O calls, less a copy of its bytes at 1 GB/s and 50 us a call. What else
--   of them was waiting for a processor counts too
-- sure:   0.9
-- fix:    as many ranks as processors: -n {processors}; or more processors (the job's --cpus-per-task, the container's limit, --bind-to). Nothing else
--   of this run's I/O tells what it is on a node with enough
-- needs:  counters
-- causes: processor
-- when:   (select count(rank) from processes) > 1
-- seen:   Open MPI FAQ, oversubscribed nodes; MPICH wiki, busy waiting
with each as (
	select a.process, sum(a.time) / 1e9 as seconds from account() as a where a.cause = 'processor' group by a.process
)
select
	arg_max(c.ranks, e.seconds) as ranks,
	arg_max(c.processors, e.seconds)::bigint as processors,
	coalesce(nullif(arg_max(n.host, e.seconds), 'unknown'), 'a node') as host,
	avg(c.waited) as waited,
	max(e.seconds) as seconds,
	max(e.seconds) as lost,
	[]::ubigint[] as calls
from each as e join account_crowded() as c using (process) join processes as p using (process) join nodes as n using (node)
having count(*) > 0
