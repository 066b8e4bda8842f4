-- The same by when the calls began: bins of {width} ns from {begin} on; calls that began before are in the first.
select
	layer, greatest(0, (start - {begin}) // {width})::integer as "time bin", floor(4 * log2(greatest(duration, 1)))::integer as bucket, count(*) as calls
from calls as c
where {selected} and {any_io}
group by all
order by layer, "time bin", bucket
