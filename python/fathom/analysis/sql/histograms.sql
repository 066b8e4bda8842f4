-- How long calls took. `selected`: a condition on rows of `calls`. Times in ns.

-- How many of the selected calls took how long: bucket b holds [2^(b/4), 2^((b+1)/4)) ns; 0 also those of 0 ns.
create or replace macro duration_buckets(selected, by_op) as table
select
	layer, by_op as op, floor(4 * log2(greatest(duration, 1)))::integer as bucket, count(*) as calls, sum(duration) as time
from calls as c
where selected and is_io(c.layer, c.kind)
group by all
order by layer, op, bucket;

-- What the histograms are sums of: of each op, in bins of time from `begin` on and by bucket, so that the calls are looked at once.
create or replace macro duration_cells(selected, begin, bin_width) as table
select
	layer, op, greatest(0, (start - begin) // bin_width)::integer as "time bin", floor(4 * log2(greatest(duration, 1)))::integer as bucket,
	count(*) as calls, sum(duration) as time, max(duration) as longest
from calls as c
where selected and is_io(c.layer, c.kind)
group by all;

-- The same as duration_buckets() by when the calls began: bins from `begin` on; calls that began before are in the first.
create or replace macro duration_over_time(selected, begin, bin_width) as table
select
	layer, greatest(0, (start - begin) // bin_width)::integer as "time bin", floor(4 * log2(greatest(duration, 1)))::integer as bucket, count(*) as calls
from calls as c
where selected and is_io(c.layer, c.kind)
group by all
order by layer, "time bin", bucket;

-- Of each op how long so many of its selected calls took at most, and its longest.
create or replace macro duration_percentiles(selected, by_op) as table
select
	layer, by_op as op, count(*) as calls, sum(duration) as time,
	quantile_disc(duration, 0.5) as median, quantile_disc(duration, 0.9) as "90 %", quantile_disc(duration, 0.99) as "99 %", max(duration) as longest
from calls as c
where selected and is_io(c.layer, c.kind)
group by all
order by time desc, layer, op;

-- The same from rows of duration_cells(): the longest call of the bucket in which a percentile lies, at most 19 % more than it.
create or replace macro cell_percentiles(rows_of, by_op) as table
with summed as (
	select layer, by_op as op, bucket, sum(calls) as calls, sum(time) as time, max(longest) as longest from query_table(rows_of) group by all
),
ranked as (
	select *, sum(calls) over (partition by layer, op order by bucket) as seen, sum(calls) over (partition by layer, op) as every from summed
)
select
	layer, op, sum(calls)::bigint as calls, sum(time) as time,
	min(longest) filter (seen >= 0.5 * every) as median, min(longest) filter (seen >= 0.9 * every) as "90 %",
	min(longest) filter (seen >= 0.99 * every) as "99 %", max(longest) as longest
from ranked
group by layer, op
order by time desc, layer, op;

-- From counters, where no call was recorded one by one: how often, and between what.
create or replace macro duration_counters(selected) as table
select layer, op, sum(calls) as calls, sum(time) as time, min(shortest)::bigint as shortest, max(longest)::bigint as longest
from counters as c
where selected and is_io(c.layer, c.kind)
group by layer, op
order by time desc, layer, op;
