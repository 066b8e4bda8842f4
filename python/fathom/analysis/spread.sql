-- Least, median and most over the ranks of calls, bytes and time of ranks.sql, and who has the most; outside MPI over the processes.
with each as materialized (
	select rank, process, unnest(['calls', 'bytes', 'time']) as quantity, unnest([calls, bytes, time]) as value
	from ({ranks})
	where rank is not null or not exists (select 1 from processes where rank is not null)
)
select quantity, min(value)::double as least, quantile_cont(value, 0.5) as median, max(value)::double as most,
	first(rank order by value desc, rank nulls last, process)::bigint as slowest,
	first(process order by value desc, rank nulls last, process)::bigint as slowest_process
from each
group by quantity
order by list_position(['calls', 'bytes', 'time'], quantity)
