-- Where in file {file} the selected reads and writes went: how many of each column began in which row of {step} bytes from {low} on and ended in
-- which, and their bytes in these two; access_cells.sql says what a cell is.
with {lane},
{access_rows}
select
	x, kind::varchar as kind, first, last, count(*) as calls,
	sum(least(z, {low} + (first + 1) * {step}) - a) as head,
	sum(if(last > first, z - ({low} + last * {step}), 0)) as tail
from placed
group by all
