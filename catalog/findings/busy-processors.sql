-- title:  I/O waits for a processor that others have
-- layer:  node
-- limit:  a process waited for a processor longer than it was outside of I/O calls, so it waited inside them. One of its threads makes its
--   calls. A twentieth of the run at least: something else always runs a little. More ranks than processors are another finding
-- says:   {who} on {host} waited {waited:seconds} of {ran:seconds} for a processor, though it may run on {processors:count}: other programs had them;
--   of its I/O that is {seconds:seconds} at least
-- lost:   that part of the slowest process's I/O
-- sure:   0.9
-- fix:    look what else runs on the node (top), and leave it processors of its own. Nothing else of this run's I/O tells what it is on a free one
-- needs:  counters
-- causes: processor
-- seen:   Linux, Documentation/scheduler/sched-stats
with each as (
	select process, sum(time) / 1e9 as seconds
	from account()
	where cause = 'processor' and process not in (select process from account_crowded())
	group by process
)
select
	if(count(*) = 1, 'one process', format('the slowest of {} processes', count(*))) as who,
	coalesce(nullif(arg_max(n.host, e.seconds), 'unknown'), 'a node') as host,
	arg_max(p.processor_wait, e.seconds) / 1e9 as waited,
	arg_max(p.stop - p.start, e.seconds) / 1e9 as ran,
	arg_max(p.allowed_processors, e.seconds)::bigint as processors,
	max(e.seconds) as seconds,
	max(e.seconds) as lost,
	[]::ubigint[] as calls
from each as e join processes as p using (process) join nodes as n using (node)
having max(e.seconds) >= (select duration / 2e10 from runs)
