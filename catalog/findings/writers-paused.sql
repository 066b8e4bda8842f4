-- title:  Writers are paused until storage has what they wrote before
-- layer:  posix
-- limit:  a tenth and more of the time in which a process wrote files were pauses by the kernel, as `fathom run --kernel` records them. Less
--   than that, the kernel evens out
-- says:   {path}: one process wrote {size:size} in {seconds:seconds}, {paused:seconds} of it in {n:count} pauses: memory had no room for more
-- lost:   the pauses of the slowest process. All that is no I/O where that is shorter, since storage could write meanwhile
-- sure:   0.6
-- fix:    let storage write while the program computes: sync_file_range with SYNC_FILE_RANGE_WRITE after each piece begins that at once. Or write
--   less, or less at a time. A node that has the memory can be given more room (vm.dirty_bytes)
-- causes: transfer, requests, contention, unexplained, needless
-- when:   exists (from kernel_events)
-- seen:   Linux, Documentation/admin-guide/sysctl/vm.rst (dirty_bytes); Gregg, Systems Performance, 2nd edition, 8.3
with by_file as (
	select
		k.process, k.file, any_value(q.place) as path, sum(k.paused) / 1e9 as paused, sum(k.duration) / 1e9 as seconds,
		sum(k.bytes)::hugeint as size, count(*) filter (k.paused > 0) as n, max_by(k.call, k.paused, 8) as worst
	from kernel_calls() as k join places() as q using (file)
	where k.kind = 'write'
	group by k.process, k.file
),
writer as (
	select
		process, arg_max(path, paused) as path, sum(size)::hugeint as size, sum(seconds) as seconds, sum(paused) as paused,
		sum(n)::hugeint as n, list_slice(flatten(list(worst order by paused desc)), 1, 8) as calls, list(file) as cell_files
	from by_file
	group by process
),
io as (
	select process, sum(time) / 1e9 as busy from account() group by process
)
select
	w.path, w.size, w.seconds, w.paused, w.n, w.calls, w.cell_files, 'write' as cell_way, 'write-back' as cell_kernel,
	least(w.paused, greatest(0, (p.stop - p.start) / 1e9 - i.busy)) as lost
from writer as w join processes as p using (process) join io as i using (process)
where w.paused >= 0.1 * w.seconds
order by lost desc
limit 1
