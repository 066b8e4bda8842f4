-- Time of each function, the most first; `unfiled` is that of calls whose file was not recorded (level job).
with {landscape_io}
select
	operation,
	layer,
	op,
	sum(calls) as calls,
	sum(time) as time,
	coalesce(sum(time) filter (file is null), 0) as unfiled
from io
group by operation, layer, op
order by time desc, op
