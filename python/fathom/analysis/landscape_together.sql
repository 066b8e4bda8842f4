-- I/O of all ranks together, of the one with the most, and to whom time and bytes belong (dominance.sql).
with io_of as materialized ({landscape_units}),
sums as (
	select
		count(*) as units,
		coalesce(sum(busy), 0) as busy,
		coalesce(max(busy), 0) as most,
		first(unit order by busy desc, unit) as most_unit,
		coalesce(sum(uncertain), 0) as uncertain,
		coalesce(sum(open), 0) as open,
		coalesce(sum(close), 0) as close,
		coalesce(sum(read), 0) as read,
		coalesce(sum(write), 0) as write,
		coalesce(sum(other), 0) as other,
		coalesce(sum(bytes_read), 0) as bytes_read,
		coalesce(sum(bytes_written), 0) as bytes_written
	from io_of
)
select sums.*, time_by, bytes_by from sums, ({time_by}) as time_by, ({bytes_by}) as bytes_by
