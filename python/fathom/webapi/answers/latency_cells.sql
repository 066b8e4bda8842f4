-- What the histograms are sums of: of each op, in bins of {width} ns from {begin} on and by bucket, so that the calls are looked at once.
select
	layer, op, greatest(0, (start - {begin}) // {width})::integer as "time bin", floor(4 * log2(greatest(duration, 1)))::integer as bucket,
	count(*) as calls, sum(duration) as time, max(duration) as longest
from calls as c
where {selected} and {any_io}
group by all
