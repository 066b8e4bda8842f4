-- I/O of each rank, or of each process where there are no ranks; processes outside MPI of an MPI run are left out. A thread's outermost
-- calls never overlap, so their sum is the time during which one of them ran (`busy`), but for what the other threads did beside the first
-- (`uncertain`: it may be that much less), unless the union of the process's threads is known. A rank is all processes that it ran in.
with {landscape_io},
summed as (
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
),
united as (
	select s.process, u.busy
	from summed as s join ({unions}) as u using (process)
	where s.beside > 0 and s.recorded = s.calls
),
image as (
	-- Sums of threads that a log of Darshan does not tell apart may be longer than the run.
	select s.*, u.busy, greatest(0, s.time - (select duration from runs)) as longer
	from summed as s left join united as u using (process)
	where if($ranks, s.rank is not null, s.calls > 0)
)
select
	if($ranks, image.rank, process) as unit,
	sum(calls) as calls,
	sum(coalesce(busy, time - longer)) as busy,
	sum(if(busy is null, greatest(0, beside - longer), 0)) as uncertain,
	sum(open) as open,
	sum(close) as close,
	sum(read) as read,
	sum(write) as write,
	sum(other) as other,
	sum(bytes_read) as bytes_read,
	sum(bytes_written) as bytes_written
from image join ({moved}) as moved using (process)
group by unit
