-- title:  Too few workers: their consumer waits, and they wait for storage
-- layer:  posix
-- limit:  a consumer waits for three quarters of its workers' time, and they are in I/O for as much of theirs. Half of the processors' time is
--   free. Waiting for a processor is left out. Who makes no call and uses no processor counts as waiting: poll() and locks are not seen
-- says:   process {consumer} waited {waited:seconds} of {period:seconds} for {who} in I/O for {busy:percent} of {their} time
-- lost:   half of what the consumer waited, at most half of the slowest worker's I/O: what twice as many workers win
-- sure:   0.4
-- fix:    {want:count} workers, where the store serves them side by side[python: : num_workers= of a DataLoader, processes= of a Pool,
--   max_workers= of an executor]
-- needs:  counters
-- causes: names, needless, requests, contention, transfer, unexplained
-- when:   exists (from files where kind in ('fifo', 'socket')) and (select count(*) from processes) > 1
-- seen:   PyTorch's tuning guide (num_workers); Mohan et al. 2021, data stalls in DNN training
with worker as (
	select
		consumer, count(*) as workers, max(lasted) as period, max(io) as slowest,
		avg(io / greatest(1, lasted - processor_wait)) as busy, coalesce(sum(processor), 0) as processor, list(process) as processes
	from loader_times()
	where is_worker
	group by consumer
),
suspect as (
	select
		w.*, c.waits_by, least(w.period, c.waited + coalesce(c.rest, 0)) as waited,
		p.allowed_processors * w.period > 2 * (w.processor + coalesce(c.processor, 0)) as free
	from worker as w join loader_times() as c on c.process = w.consumer and not c.is_worker join processes as p on p.process = w.consumer
),
example as (
	select s.consumer, max_by(c.id, c.duration, 8) as calls
	from calls as c join places() as p using (file) join suspect as s on list_contains(s.processes, c.process)
	where c.depth = 0 and c.kind in ('open', 'read')
	group by s.consumer
)
select
	s.consumer, if(s.workers = 1, 'one worker that was', format('{} workers that were', s.workers)) as who,
	if(s.workers = 1, 'its', 'their') as their, 2 * s.workers as want, s.period / 1e9 as period, s.waited / 1e9 as waited, s.busy,
	e.calls, least(s.waited, s.slowest) / 2e9 as lost
from suspect as s left join example as e using (consumer)
where s.busy >= 0.75 and s.waited >= 0.75 * s.period and coalesce(s.free, true)
