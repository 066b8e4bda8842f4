-- Time of each process's I/O by operation. A thread's outermost calls never overlap, so `time` is the time during which one
-- of them ran, but for what the other threads did beside the first (`beside`).
with {landscape_io}
select
	process,
	any_value(p.rank) as rank,
	coalesce(sum(io.calls), 0) as calls,
	coalesce(sum(io.recorded), 0) as recorded,
	coalesce(sum(io.time), 0) as time,
	coalesce(sum(io.time) filter (thread_class = 'other'), 0) as beside,
	coalesce(sum(io.time) filter (operation = 'open'), 0) as open,
	coalesce(sum(io.time) filter (operation = 'close'), 0) as close,
	coalesce(sum(io.time) filter (operation = 'read'), 0) as read,
	coalesce(sum(io.time) filter (operation = 'write'), 0) as write,
	coalesce(sum(io.time) filter (operation = 'other'), 0) as other
from processes as p left join io using (process)
group by process
having sum(io.calls) > 0 or any_value(p.rank) is not null
order by rank nulls last, process
