-- title:  Every rank writes metadata of a shared file by itself
-- layer:  hdf5
-- limit:  two ranks or more write metadata of one file, and collective metadata writes are not in force
-- says:   {path}: {ranks} ranks made {n:count} writes of metadata, {size:size} on average; the slowest took {seconds:seconds}
-- lost:   those writes of the slowest rank, less two accesses for each flush at the store's latency
-- sure:   0.8
-- fix:    H5Pset_coll_metadata_write(fapl, 1): ranks write what has changed together. All ranks must make the calls that change
--   metadata in the same order
-- knob:   coll_metadata_write=true
-- causes: names, exchange, waiting
-- seen:   HDFGroup/hdf5#265; openPMD/openPMD-api#1129; HighFive#620
with collective as (
	select distinct file from hints_in_force where key = 'collective_metadata_write' and value = 'true' and source = 'in force'
),
rank as (
	select
		file, process, sum(moves)::hugeint as n, sum(bytes)::hugeint as bytes, sum(time) / 1e9 as seconds, count(distinct call) as flushes,
		max_by(worst, time, 2) as calls
	from driver_transfers()
	where not raw and kind = 'write' and file not in (from collective)
	group by file, process
),
shared as (
	select *, count(*) over (partition by file) as ranks from rank
)
select
	p.place as path,
	max(r.ranks) as ranks,
	sum(r.n)::hugeint as n,
	sum(r.bytes) / sum(r.n) as size,
	max(r.seconds) as seconds,
	flatten(max_by(r.calls, r.seconds, 2)) as calls,
	max(r.seconds - 2 * r.flushes * coalesce(s.latency, 0)) as lost
from shared as r join places() as p using (file) left join access_costs() as s on s.file = r.file and s.kind = 'write'
where r.ranks > 1
group by p.place
having lost > 0
