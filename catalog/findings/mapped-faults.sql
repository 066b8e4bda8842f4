-- title:  A mapped file is read page by page
-- layer:  posix
-- limit:  page faults of a process on a mapped file made 64 requests to a device and more, as `fathom run --kernel` records them. They are below
--   64 KiB on average: half of what the kernel reads around a fault
-- says:   {path}: {n:count} requests of {size:size} on average by page faults of one process, which waited {seconds:seconds}
-- lost:   those of the slowest process, less the whole stretch that they are from, read in order at the store's rate
-- sure:   0.7
-- fix:    tell the kernel what comes: madvise with MADV_SEQUENTIAL where pages are used in order, with MADV_WILLNEED before they are needed.
--   MADV_RANDOM is for a few pages of many. Or read the stretch in large pieces instead[python: : of a numpy.memmap, copy
--   the part that is used]
-- causes: faults
-- seen:   Linux, mm/filemap.c (do_sync_mmap_readahead); Crotty, Leis, Pavlo 2022 (are you sure you want to use MMAP)
with fault as (
	select
		process, file, sum(requests)::hugeint as n, sum(bytes)::hugeint as bytes, sum(waited) / 1e9 as seconds, min(first) as first, max(past) as past
	from kernel_faults()
	group by process, file
)
select
	q.place as path, f.n, f.bytes::double / f.n::double as size, f.seconds, [f.file] as cell_files,
	f.seconds - (f.past - f.first) * coalesce(r.per_byte, 0) - coalesce(r.request, 0) as lost
from fault as f join places() as q using (file) left join account_references() as r on r.file = f.file and r.kind = 'read'
where f.n >= 64 and f.bytes < 65536 * f.n
order by lost desc
limit 1
