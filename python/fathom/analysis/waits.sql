-- Each function of threads and locks: how often, and how long it kept its callers.
select
	op,
	sum(calls)::bigint as calls,
	sum(errors)::bigint as errors,
	sum(time)::bigint as time,
	max(longest)::bigint as longest,
	count(distinct process)::bigint as processes
from counters
where layer = 'threads'
group by op
order by time desc, op
