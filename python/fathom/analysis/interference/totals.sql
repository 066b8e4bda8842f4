-- What the run asked of each server, and between when: from `calls`. `seconds` of the process that spent most there, and of all.
with {storage},
each as (
	select server, key, process, count(*) as calls, sum(duration) as time, sum(bytes) filter (kind = 'read') as bytes_read,
		sum(bytes) filter (kind = 'write') as bytes_written
	from at_server
	group by all
)
select
	server, key, sum(calls) as calls, sum(time) / 1e9 as seconds, max(time) / 1e9 as longest_seconds,
	coalesce(sum(bytes_read), 0) as bytes_read, coalesce(sum(bytes_written), 0) as bytes_written
from each
group by server, key
order by server, key
