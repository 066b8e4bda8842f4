-- The same from the cells of the histograms: the longest call of the bucket in which a percentile lies, at most 19 % more than it.
with summed as (
	select layer, {op} as op, bucket, sum(calls) as calls, sum(time) as time, max(longest) as longest from {cells} group by all
),
ranked as (
	select *, sum(calls) over (partition by layer, op order by bucket) as seen, sum(calls) over (partition by layer, op) as every from summed
)
select
	layer, op, sum(calls)::bigint as calls, sum(time) as time,
	min(longest) filter (seen >= 0.5 * every) as median, min(longest) filter (seen >= 0.95 * every) as "95 %",
	min(longest) filter (seen >= 0.99 * every) as "99 %", max(longest) as longest
from ranked
group by layer, op
order by time desc, layer, op
