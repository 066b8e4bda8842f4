-- title:  HDF5 is busy with metadata
-- layer:  hdf5
-- limit:  metadata take a process longer than the raw data of the same file: its objects are too small. Ten accesses that each
--   file takes anyway are left out
-- says:   {path}: {n:count} {what}s of metadata, {size:size} on average, took {seconds:seconds} of one process; its raw data
--   {raw:seconds}
-- lost:   those accesses of the slowest process and its raw data's. Less the same bytes in pieces of 1 MiB, and ten accesses, at
--   the store's cost
-- sure:   0.6
-- fix:    fewer and larger objects (one dataset of many rows, attributes in one compound). Or metadata in pages:
--   H5Pset_file_space_strategy(PAGE) with H5Pset_page_buffer_size (serial). When all ranks read it: H5Pset_all_coll_metadata_ops
-- knob:   file_space_strategy, page_buffer_size, meta_block_size, all_coll_metadata_ops
-- causes: names, needless, requests, transfer, contention, unexplained, sync
-- seen:   HDF5 User's Guide, metadata caching; Latham et al., volume reads: HDF5 made many small metadata reads
with shared as (
	select file from driver_transfers() where not raw and kind = 'write' group by file having count(distinct process) > 1
),
process as (
	select
		file, kind, process, sum(moves) filter (not raw) as n, sum(bytes) filter (not raw) as bytes, sum(bytes) as all_bytes,
		coalesce(sum(time) filter (not raw), 0) / 1e9 as seconds, coalesce(sum(time) filter (raw), 0) / 1e9 as raw,
		max_by(worst, time, 2) filter (not raw) as calls
	from driver_transfers()
	where kind = 'read' or file not in (from shared)
	group by file, kind, process
)
select
	p.place as path,
	m.kind as what,
	sum(m.n)::hugeint as n,
	sum(m.bytes) / sum(m.n) as size,
	max(m.seconds) as seconds,
	max_by(m.raw, m.seconds) as raw,
	flatten(max_by(m.calls, m.seconds, 2)) as calls,
	max(m.seconds * (1 - least(1, 10 / m.n)) + m.raw - ceil(m.all_bytes / 1048576) * s.latency - m.all_bytes * s.per_byte) as lost
from process as m join places() as p using (file) join access_costs() as s on s.file = m.file and s.kind = m.kind
where m.n > 10 and m.seconds > m.raw
group by p.place, m.kind
having lost > 0
