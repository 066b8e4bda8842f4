-- From `cell`, ns by line, owner, maker and part of the run: of each line and part what processes spent and what ranks did, of none more than
-- the part lasts. A line without I/O has one row without part. The end of statements that begin with heat_lines.sql.
each as (
	select line, owner, bin, sum(if(maker is null, time, least(time, width))) as of_processes, sum(time) as time
	from (select line, owner, maker, greatest(0, least(bin, $bins - 1)) as bin, sum(time) as time from cell group by all), part
	group by all
),
sums as (
	select line, bin, sum(of_processes) as processes, sum(if(owner is null, time, least(time, width))) as ranks
	from each, part
	group by line, bin
)
select line, first_unit, last_unit, units, bin, processes::double as processes, ranks::double as ranks
from sums full join line using (line)
order by line, bin
