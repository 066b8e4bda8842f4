-- How the time of the program's own I/O calls is spread over everyone; those who made none count as 0. A rank is all processes that
-- it ran in. `most`: of the rank or process with the most; `together`: of all one after another, of none more than the run lasted;
-- `median`: of the one in the middle.
with each as materialized (
	select coalesce(rank, -1 - process::bigint) as unit, any_value(rank) as rank, first(process order by time desc, process) as process,
		sum(time) as time, max(main_time) as main_time
	from ({own_processes}) group by unit
),
number as (
	select units, greatest(units, (select count(*) from each)) as everyone from (select count(*) as units from ({everyone}))
),
zeros as (
	select units, everyone, everyone // 2 as middle, everyone - (select count(*) from each) as zeros from number
)
select
	any_value(units) as units,
	any_value(everyone) as everyone,
	max(time) as most,
	first(process order by time desc, process) as most_process,
	first(rank order by time desc, process) as most_rank,
	coalesce(max(main_time), 0)::hugeint as main_most,
	coalesce(sum(least(time, (select duration from runs))) filter (time is not null), 0) as together,
	coalesce(list_sort(list(time))[greatest(0, any_value(middle - zeros) + 1)], 0) as median
from zeros left join each on true
