-- title:  HDF5 is busy with metadata
-- layer:  hdf5
-- limit:  metadata take a process longer than the raw data of the same file, in all or in one direction: its objects are too small. Ten accesses
--   and ten calls that each open of a file takes anyway are left out
-- says:   {path}: {calls_made:count} opens, closes and the like of groups, datasets and attributes took one process {names:seconds}[, {n:count} accesses of
--   metadata, {size:size} on average, {accesses:seconds}]; its raw data {raw:seconds}
-- lost:   those calls of the slowest process. And its accesses of metadata and raw data, less the same bytes at the store's cost. Their
--   pieces are then of 1 MiB, or as large as those of raw data now
-- sure:   0.6
-- fix:    [flush the file less often than the {flushes:count} times now. Or: ]fewer and larger objects (one dataset of many rows,
--   attributes in one compound)[hdf5 1.10.1: . Or metadata in pages: H5Pset_file_space_strategy(PAGE) with
--   H5Pset_page_buffer_size (serial)].[ranks:  When all ranks read it: H5Pset_all_coll_metadata_ops]
-- knob:   file_space_strategy, page_buffer_size, meta_block_size, all_coll_metadata_ops
-- needs:  counters
-- causes: names, needless, requests, transfer, contention, unexplained, sync
-- seen:   HDF5 User's Guide, metadata caching; Latham et al., volume reads: HDF5 made many small metadata reads
with shared as (
	select file from driver_transfers() where not raw and kind = 'write' group by file having count(distinct process) > 1
),
opened as (
	select file, process, greatest(1, sum(calls - errors)) as opens from counters where layer = 'hdf5' and is_file_open(op) group by file, process
),
direction as (
	select
		file, kind, process, sum(moves) filter (not raw) as n, sum(bytes) filter (not raw) as bytes, sum(bytes) as all_bytes,
		coalesce(sum(time) filter (not raw), 0) / 1e9 as seconds, coalesce(sum(time) filter (raw), 0) / 1e9 as raw,
		greatest(1048576, sum(bytes) filter (raw) / sum(moves) filter (raw)) as piece,
		max_by(worst, time, 2) filter (not raw) as calls
	from driver_transfers()
	where kind = 'read' or file not in (from shared)
	group by file, kind, process
),
accesses as (
	select
		d.file, d.process, sum(d.n) as n, sum(d.bytes) as bytes, sum(d.seconds) as seconds, sum(d.raw) as raw, flatten(max_by(d.calls, d.seconds, 2)) as calls,
		sum(greatest(0, d.seconds * (1 - least(1, 10 * coalesce(o.opens, 1) / d.n)) + d.raw - ceil(d.all_bytes / d.piece) * s.latency - d.all_bytes * s.per_byte))
			filter (d.n > 10 * coalesce(o.opens, 1) and d.seconds > d.raw) as lost
	from direction as d join access_costs() as s using (file, kind) left join opened as o using (file, process)
	group by d.file, d.process
),
-- What the library itself takes for its objects, without what it reads and writes for it.
library as (
	select file, process, sum(time) / 1e9 as seconds from account() where cause = 'names' and layer = 'hdf5' and file is not null group by file, process
),
names_calls as (
	select
		file, process, sum(calls - errors) filter (kind in ('open', 'close', 'meta')) as n,
		coalesce(sum(time) filter (kind in ('read', 'write')), 0) / 1e9 as data, max(longest) filter (kind in ('open', 'close', 'meta')) / 1e9 as longest
	from own_counters()
	where layer = 'hdf5' and file is not null
	group by file, process
),
flushed as (
	select file, sum(calls - errors)::bigint as flushes from own_counters() where is_library(layer) and kind = 'sync' group by file having flushes >= 8
),
process as (
	select
		file, process, coalesce(m.n, 0) as calls_made, coalesce(l.seconds, 0) as names, a.n, a.bytes, a.seconds, coalesce(a.raw, m.data, 0) as raw, a.calls,
		coalesce(a.lost, 0)
			+ if(
				names + coalesce(a.seconds, 0) > raw,
				greatest(0, names - coalesce(m.longest, 0)) * (1 - least(1, 10 * coalesce(o.opens, 1) / nullif(calls_made, 0))),
				0
			) as lost
	from names_calls as m left join library as l using (file, process) full join accesses as a using (file, process)
		left join opened as o using (file, process)
)
select
	p.place as path,
	list(m.file) as cell_files,
	sum(m.calls_made)::hugeint as calls_made,
	max_by(m.names, m.lost) as names,
	sum(m.n)::hugeint as n,
	sum(m.bytes) / sum(m.n) as size,
	max_by(m.seconds, m.lost) as accesses,
	max_by(m.raw, m.lost) as raw,
	coalesce(flatten(max_by(m.calls, m.lost, 2)), []) as calls,
	max(f.flushes) as flushes,
	max(m.lost) as lost
from process as m join places() as p using (file) left join flushed as f using (file)
where m.lost > 0
group by p.place
