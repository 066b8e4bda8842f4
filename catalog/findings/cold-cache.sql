-- title:  Bytes are read from storage: the page cache does not have them
-- layer:  posix
-- limit:  half and more of what a process read, and a MiB at least, came from block devices or a remote file system. What is mapped counts too,
--   so no more is said than its reads moved
-- says:   {path}: one process read {size:size} in {seconds:seconds}, {storage:size} of that from storage[, {waited:seconds} while a device was at work
--   for it]; the page cache is faster
-- lost:   that share of these reads; with `fathom run --kernel` the time of the device in them. All that is no I/O where that is shorter, since
--   both could run side by side. Of the slowest process
-- sure:   0.3
-- fix:    ask for the bytes while the program computes (posix_fadvise with POSIX_FADV_WILLNEED, or a thread that reads). Measure again with the same
--   cache: a second run on this node may find them there
-- causes: transfer, requests, unexplained
-- when:   exists (from processes where storage_read >= 1048576)
-- seen:   Linux, Documentation/filesystems/proc.rst (read_bytes); Gregg, Systems Performance, 2nd edition, 8.3
with by_file as (
	select
		p.process, p.storage_read, p.stop - p.start as lasted, any_value(q.place) as path, a.file, sum(a.bytes) as bytes,
		sum(a.time) as time, max_by(a.worst, a.longest, 8) as worst
	from accesses() as a join places() as q using (file) join processes as p using (process)
	where a.kind = 'read' and a.layer = 'posix' and p.storage_read >= 1048576
	group by p.process, p.storage_read, p.stop, p.start, a.file
),
process as (
	select
		process, arg_max(path, bytes) as path, sum(bytes)::hugeint as size, least(any_value(storage_read), sum(bytes))::hugeint as counted,
		sum(time) / 1e9 as seconds, any_value(lasted) / 1e9 as lasted, list_slice(flatten(list(worst)), 1, 8) as calls, list(file) as cell_files
	from by_file
	group by process
),
-- What the kernel said of each read, where it was asked.
kernel_reads as (
	select
		-- What was read ahead for a call is read by a later one.
		process, least(sum(bytes), sum(if(missed = 0 and origin = 'device', bytes, missed + ahead)))::hugeint as storage,
		sum(device_time) filter (origin <> 'cached') / 1e9 as waited
	from kernel_calls()
	where kind = 'read' and layer = 'posix'
	group by process
),
io as (
	select process, sum(time) / 1e9 as busy from account() group by process
)
select
	p.path, p.size, coalesce(t.storage, p.counted) as storage, p.seconds, t.waited, p.calls, p.cell_files, 'read' as cell_way,
	if(t.storage is null, 0.3, 0.6) as sure,
	least(coalesce(t.waited, p.seconds * p.counted::double / p.size::double), greatest(0, p.lasted - i.busy)) as lost
from process as p join io as i using (process) left join kernel_reads as t using (process)
where coalesce(t.storage, p.counted) >= 0.5 * p.size
order by lost desc
limit 1
