-- title:  Reading or writing and computing take turns
-- layer:  posix
-- limit:  a thread computes between its reads or writes: 8 turns at least, of 50 us and more. The shorter of each pair could run
--   beside the other. Time in other calls is no computing. Less than 5 % of the run is not worth a thread
-- says:   {path}: {n:count} turns of {who}: {what} {each:seconds}, then something else for {gap:seconds}, on average
-- lost:   of the slowest thread, the sum of the shorter of each access and the gap before it
-- sure:   0.5
-- fix:    let them run side by side: a thread for I/O, two buffers[mpiio: , nonblocking calls (MPI_File_iwrite,
--   MPI_File_iread)][pnetcdf: , nonblocking calls (iput, iget and wait_all)]
-- causes: library, transfer, requests, contention, unexplained, sync, needless, locks, exchange, waiting
-- when:   (select count(*) from calls where kind in ('read', 'write') and duration >= 50000) >= 8
-- seen:   Patrick et al. 2008 (overlapping computation and I/O)
with region as (
	select distinct process from counters where is_region(layer)
),
-- In the order in which calls lie, thread after thread, a window keeps only the one before. Behind a join, as regions ask for, it keeps all.
each as (
	select *
	from (
		select id, process, stream, thread, kind, file, start, duration, lag(stream) over () as stream_before, lag(start + duration) over () as stop_before
		from calls
		where depth = 0 and layer not in ('fathom', 'server', 'disk')
	)
	where process not in (from region)
	union all
	select
		id, process, stream, thread, kind, file, start, duration,
		lag(stream) over (partition by stream order by id), lag(start + duration) over (partition by stream order by id)
	from calls
	where process in (from region) and is_outermost_call(depth, parent) and layer not in ('user', 'threads', 'fathom', 'server', 'disk')
),
-- What other calls of the program took of the gaps, where they were only counted: messages; in a log with DXT all but reads and writes.
counted as (
	select process, sum(time) / 1e9 as seconds
	from counters
	where recorded = 0 and thread_class = 'main' and is_outermost(enclosing_layer, enclosing)
		and op not in ('MPI_Init', 'MPI_Init_thread', 'MPI_Finalize')
	group by process
),
thread as (
	select
		p.place as path, e.kind as what, e.process, e.stream, count(*) as n, sum(e.duration) / 1e9 as seconds, sum(e.start - e.stop_before) / 1e9 as idle,
		sum(least(e.duration, e.start - e.stop_before)) / 1e9 as lost, max_by(e.id, e.duration, 8) as worst
	from each as e join places() as p using (file) join processes as r using (process)
	where e.stream = e.stream_before and e.thread = r.pid and e.kind in ('read', 'write') and e.start - e.stop_before >= 50000 and e.duration >= 50000
	group by p.place, e.kind, e.process, e.stream
)
select
	path,
	what,
	sum(n)::hugeint as n,
	if(count(distinct process) = 1, 'one process', format('{} processes', count(distinct process))) as who,
	sum(thread.seconds) / sum(n) as each,
	sum(idle) / sum(n) as gap,
	list_slice(flatten(list(worst)), 1, 8) as calls,
	max(least(lost, idle - coalesce(c.seconds, 0))) as lost
from thread left join counted as c using (process)
group by path, what
having max(n) >= 8 and max(least(lost, idle - coalesce(c.seconds, 0))) > 0.05 * (select duration / 1e9 from runs)
