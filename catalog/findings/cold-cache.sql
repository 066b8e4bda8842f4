-- title:  Bytes are read from storage: the page cache does not have them
-- layer:  posix
-- limit:  half and more of what a process read, and a MiB at least, came from block devices or a remote file system. What is mapped counts too,
--   so no more is said than its reads moved
-- says:   {path}: one process read {size:size} in {seconds:seconds}, {storage:size} of that from storage; the page cache is faster
-- lost:   that share of these reads, or all that is no I/O where that is shorter, since both could run side by side. Of the slowest process
-- sure:   0.3
-- fix:    ask for the bytes while the program computes (posix_fadvise with POSIX_FADV_WILLNEED, or a thread that reads). Measure again with the same
--   cache: a second run on this node may find them there
-- causes: transfer, requests, unexplained
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
		process, arg_max(path, bytes) as path, sum(bytes)::hugeint as size, least(any_value(storage_read), sum(bytes))::hugeint as storage,
		sum(time) / 1e9 as seconds, any_value(lasted) / 1e9 as lasted, list_slice(flatten(list(worst)), 1, 8) as calls, list(file) as cell_files
	from by_file
	group by process
	having storage >= 0.5 * sum(bytes)
),
io as (
	select process, sum(time) / 1e9 as busy from account() group by process
)
select
	p.path, p.size, p.storage, p.seconds, p.calls, p.cell_files, 'read' as cell_way,
	least(p.seconds * p.storage::double / p.size::double, greatest(0, p.lasted - i.busy)) as lost
from process as p join io as i using (process)
order by lost desc
limit 1
