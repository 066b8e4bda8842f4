-- How many of the selected calls took how long: bucket b holds [2^(b/4), 2^((b+1)/4)) ns; 0 also those of 0 ns.
select
	layer, {op} as op, floor(4 * log2(greatest(duration, 1)))::integer as bucket, count(*) as calls, sum(duration) as time
from calls as c
where {selected} and {any_io}
group by all
order by layer, op, bucket
