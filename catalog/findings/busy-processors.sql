-- title:  I/O waits for a processor that others have
-- layer:  node
-- limit:  the thread that makes a process's calls waited for a processor longer than it was outside of them, so it waited inside them.
--   A twentieth of the run at least: something else always runs a little. More ranks than processors are another finding
-- says:   {who} on {host} waited {waited:seconds} of {ran:seconds} for a processor{allowed}: other programs had
--   that time; of the I/O that is {seconds:seconds} at least
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
),
in_turn as (
	select
		k.chain, count(*) as n, sum(e.seconds) as seconds, sum(d.waited) / 1e9 as waited, sum(p.stop - p.start) / 1e9 as ran,
		any_value(p.allowed_processors) as processors, any_value(n.host) as host
	from each as e join chains() as k using (process) join account_delays() as d using (process) join processes as p using (process)
		join nodes as n using (node)
	group by k.chain
),
slowest as (
	select * from in_turn order by seconds desc, chain limit 1
)
select
	case
		when n > 1 then format('{} processes, one after another,', n)
		when (select sum(i.n) from in_turn as i) = 1 then 'one process'
		else format('the slowest of {} processes', (select sum(i.n) from in_turn as i))
	end as who,
	if(processors = 1, ', and may run on one only', format(', though {} may run on {}', if(n > 1, 'they', 'it'), processors)) as allowed,
	coalesce(nullif(host, 'unknown'), 'a node') as host,
	waited,
	ran,
	seconds,
	seconds as lost,
	true as in_turn,
	[]::ubigint[] as calls
from slowest
where seconds >= (select duration / 2e10 from runs)
