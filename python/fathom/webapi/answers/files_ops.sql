-- The same of each op; one transfer is seen in each layer that it passed.
with {file_calls}
select
	layer, op, kind, count(distinct process) as lanes, sum(calls) as calls, sum(bytes) as bytes, sum(time) as time,
	max(longest)::bigint as longest
from file_calls
group by layer, op, kind
order by time desc, layer, op
