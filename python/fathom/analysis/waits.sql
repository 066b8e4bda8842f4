-- Each function of threads and locks: how often, and how long it kept its callers.
select
	op,
	sum(calls) as calls,
	sum(errors) as errors,
	sum(time) as time,
	max(longest)::bigint as longest,
	count(distinct process)::bigint as processes
from counters
where layer = 'threads'
group by op
order by time desc, op
