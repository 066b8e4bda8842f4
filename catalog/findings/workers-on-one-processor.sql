-- title:  Workers that share one processor
-- layer:  node
-- limit:  all workers of a consumer, two at least, may run on one processor only of a node that has more. They waited for it for a tenth of their
--   time. Where a worker may run is known from its start, so later changes are not seen
-- says:   the {workers:count} workers of process {consumer} may all run on processor {allowed} only, on {host} with {processors:count}: they waited for it for
--   {waited:percent} of their time
-- lost:   not known: time of computing, not of I/O
-- sure:   0.8
-- fix:    give the job a processor for each worker (--cpus-per-task, --bind-to none, the container's limit)[python: . A library may have set
--   it: os.sched_setaffinity undoes that]
-- needs:  counters
-- when:   exists (from files where kind in ('fifo', 'socket')) and (select count(*) from processes) > 1
-- seen:   pytorch/pytorch#101850, ultralytics#11195: a library binds the process, and its workers with it
select
	w.consumer,
	count(*) as workers,
	any_value(w.allowed) as allowed,
	coalesce(nullif(any_value(n.host), 'unknown'), 'a node') as host,
	any_value(n.processors) as processors,
	avg(w.processor_wait / nullif(w.lasted, 0)) as waited,
	[]::ubigint[] as calls,
	null as lost
from loader_times() as w join processes as p using (process) join nodes as n using (node)
where w.is_worker
group by w.consumer
having count(*) > 1 and count(distinct w.allowed) = 1 and regexp_full_match(any_value(w.allowed), '\d+') and any_value(n.processors) > 1
	and avg(w.processor_wait / nullif(w.lasted, 0)) >= 0.1
