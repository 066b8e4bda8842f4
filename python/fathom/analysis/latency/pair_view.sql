-- Each process and server. Energy: $active watts while the server serves the call, $inactive until the call ends. Requests that are the only one of
-- their call, most of a long run's, are summed by file before it is asked whose server the file's is.
-- `first_id`: of the longest request ($sign 1) or the shortest (-1).
with recursive {units},
{requests},
{single},
of_file as (
	select
		who, file, data, data and error = 0 as accessed, count(*) as calls, sum(bytes) as bytes, sum(time) as time,
		max(time) as longest, min(time) as shortest, sum(took) as took, {first} as first
	from (select *, kind in ('read', 'write') as data from lone)
	group by who, file, data, accessed
),
several as (
	select
		who, number, count(*) as subcalls, sum(requests) as requests, sum(accesses) as accesses, sum(bytes) as bytes, sum(time) as time,
		sum(time) filter (accesses > 0) as data_time, sum(after) as after, max(time) as longest, min(time) as shortest,
		least(sum(time), any_value(took)) as busy, any_value(took) as took, {first} as first
	from request
	where not single
	group by who, number, unit
),
each as (
	select
		who, number, calls, calls as subcalls, calls as requests, if(accessed, calls, 0) as accesses, if(data, bytes, 0) as bytes, time,
		if(accessed, time, 0) as data_time, 0 as after, longest, shortest, time * $active + (took - time) * $inactive as energy, first
	from of_file join numbered_file using (file)
	where {servers_set}
	union all
	select
		who, number, 1, subcalls, requests, accesses, bytes, time, data_time, after, longest, shortest,
		busy * $active + (took - busy) * $inactive, first
	from several
)
select
	who, number, sum(calls) as calls, sum(subcalls) as subcalls, sum(requests) as requests,
	sum(accesses) as accesses, coalesce(sum(bytes), 0) as bytes, sum(time) as server_time,
	sum(time) / sum(subcalls) as mean, max(longest) as longest, min(shortest) as shortest, sum(after) as after,
	sum(data_time) as data_time, coalesce(sum(bytes), 0) / nullif(sum(data_time), 0) * 1e3 as server_rate, sum(energy) as energy,
	(($sign * if($sign > 0, max(longest), min(shortest)))::hugeint * 18446744073709551616 - max(first))::ubigint as first_id
from each
group by who, number
order by who, number
