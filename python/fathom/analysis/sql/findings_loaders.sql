-- Workers that feed a consumer: processes that read files and hand what they made to a process above them, by pipes or sockets. Told by facts:
-- who started whom, which pipe both have in hand, who reads it; never by names. Times in ns.

-- Each process with all above it: who started it, or was replaced by it. Columns: process, above, steps.
create or replace macro process_ancestors() as table
with recursive line as (
	select process, parent as above, 1 as steps from processes where parent is not null
	union all
	select line.process, p.parent, line.steps + 1 from line join processes as p on p.process = line.above where p.parent is not null
)
from line;

-- What processes tell each other: calls on pipes and sockets. Columns: process, is_main (by the main thread), file, is_pipe, kind, calls, bytes, time.
create or replace macro process_talk() as table
select
	c.process, c.thread_class = 'main' as is_main, c.file, f.kind = 'fifo' as is_pipe, c.kind, sum(c.calls)::hugeint as calls,
	sum(coalesce(c.bytes, 0))::hugeint as bytes, sum(c.time)::hugeint as time
from counters as c join files as f using (file)
where f.kind in ('fifo', 'socket') and is_system(c.layer) and is_outermost(c.enclosing_layer, c.enclosing)
group by all;

-- Workers, each with its consumer: the nearest process above that reads a pipe which the worker writes. Of sockets each end is a file of its
-- own: then one that had the worker's end in hand, and reads others. A worker reads or maps files itself, and one alone answers more than once:
-- git waits for one line of a program that packs.
-- Columns: process, consumer, by_socket (by sockets only).
create or replace macro loader_workers() as table
with talk as materialized (from process_talk()),
pair as (
	select w.process, a.above as consumer, a.steps, not w.is_pipe as by_socket, max(w.calls) as answers
	from talk as w join process_ancestors() as a on a.process = w.process join talk as r on r.process = a.above and r.file = w.file
	where w.kind = 'write' and w.bytes > 0
		and if(w.is_pipe, r.kind = 'read', r.process in (select process from talk where not is_pipe and kind = 'read' and bytes > 0))
	group by all
),
worker as (
	select process, arg_min(consumer, steps) as consumer, bool_and(by_socket) as by_socket, max(answers) as answers
	from pair
	where process in (select process from own_counters() where kind in ('read', 'map') and file is not null)
	group by process
)
select process, consumer, by_socket
from worker
qualify sum(answers) over (partition by consumer) > 1;

-- The time of workers and of their consumers. Of a worker `waited` is its main thread's in pipes and sockets: for tasks, or for room. Of a consumer it is
-- the main thread's reads of what workers write (`waits_by` main); or, where other threads read that, as much of theirs as the main one spent
-- neither in calls nor on a processor (`waits_by` thread). `rest`: of what is left nothing was recorded: poll(), locks, semaphores, sleep, page
-- faults, a device; null where the time on a processor is not known. It is a lower bound: calls use a processor, too.
-- Columns: consumer, process, pid, is_worker, lasted, files, bytes, reads, io (by the main thread), waited, waits_by, processor, processor_wait, rest,
-- allowed (as processes has it).
create or replace macro loader_times() as table
with worker as materialized (from loader_workers()),
talk as materialized (from process_talk()),
one as (
	select consumer, process, true as is_worker from worker
	union all
	select distinct consumer, consumer, false from worker
),
own as (
	select
		process, count(distinct file) filter (kind in ('read', 'map')) as files, coalesce(sum(bytes) filter (kind = 'read'), 0)::hugeint as bytes,
		coalesce(sum(calls) filter (kind = 'read'), 0)::bigint as reads, coalesce(sum(time) filter (thread_class = 'main'), 0) as main,
		coalesce(sum(time) filter (thread_class <> 'main'), 0) as others
	from own_counters()
	group by process
),
-- What workers write: of a socket its other end is not known, so all that the consumer reads.
data as (
	select distinct w.consumer, t.file from worker as w join talk as t using (process) where t.is_pipe and t.kind = 'write'
	union
	select distinct w.consumer, t.file from worker as w join talk as t on t.process = w.consumer where w.by_socket and not t.is_pipe
),
sums as (
	select
		one.consumer, one.process, one.is_worker,
		coalesce(sum(t.time) filter (t.is_main), 0) as main,
		coalesce(sum(t.time) filter (t.is_main and t.kind = 'read' and d.file is not null), 0) as main_data,
		coalesce(sum(t.time) filter (not t.is_main and t.kind = 'read' and d.file is not null), 0) as other_data
	from one left join talk as t using (process) left join data as d on d.consumer = one.consumer and d.file = t.file
	group by all
),
left_over as (
	select
		t.*, p.pid, p.allowed, p.stop - p.start as lasted, coalesce(o.files, 0) as files, coalesce(o.bytes, 0) as bytes, coalesce(o.reads, 0) as reads,
		least(p.stop - p.start, if(t.is_worker, coalesce(o.main + o.others, 0), coalesce(o.main, 0))) as io,
		p.processor_time as processor, coalesce(p.processor_wait, 0) as processor_wait,
		-- greatest() passes over what is null.
		if(p.processor_time is null, null, greatest(0, p.stop - p.start - io - t.main - p.processor_time - coalesce(p.processor_wait, 0))) as rest
	from sums as t join processes as p using (process) left join own as o using (process)
)
select
	consumer, process, pid, is_worker, lasted, files::bigint as files, bytes, reads, io::hugeint as io,
	case
		when is_worker then main when main_data > 0.01 * lasted or other_data = 0 then main_data
		else least(other_data, rest)
	end::hugeint as waited,
	case when is_worker or main_data > 0.01 * lasted then 'main' when other_data > 0.01 * lasted then 'thread' end as waits_by,
	processor, processor_wait,
	if(rest is null, null, greatest(0, rest - if(is_worker or main_data > 0.01 * lasted or other_data = 0, 0, other_data)))::hugeint as rest,
	allowed
from left_over
order by consumer, is_worker, process;
