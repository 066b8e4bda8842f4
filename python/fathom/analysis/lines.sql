-- Where the program's own I/O calls were made from; of calls inside a region, where that began. Summed by site first: sites are few.
with recursive {own_calls},
each as (
	select site, region, layer, op, kind, process, count(*) as calls, count(*) filter (error <> 0) as errors, sum(bytes) as bytes,
		sum(duration) as time, max(duration) as longest
	from own
	group by site, region, layer, op, kind, process
)
select
	coalesce(s.function, '') as function,
	s.source,
	s.line,
	coalesce(s.module, '') as module,
	region,
	each.layer,
	each.op,
	each.kind,
	sum(calls) as calls,
	sum(errors) as errors,
	coalesce(sum(bytes), 0) as bytes,
	sum(time) as time,
	max(longest) as longest,
	count(distinct process)::bigint as processes
from each left join sites as s using (site)
group by s.function, s.source, s.line, s.module, region, each.layer, each.op, each.kind
order by time desc, s.source, s.line, each.op
