-- title:  A selection of HDF5 is moved piece by piece
-- layer:  hdf5
-- limit:  independent transfers of raw data that make 8 accesses or more each, smaller than `half` (store_costs()). Or of twice the bytes that were
--   asked for: what lies between moves too, through the sieve buffer. HDF5 makes one access for each stretch of the file; a collective
--   transfer hands all of them to MPI-IO at once
-- says:   {path}: {n:count} independent {what}s of {size:size} by {who} became {moves:count} accesses of {piece:size}; {seconds:seconds} of the slowest
-- lost:   the slowest process's transfers, and what a write reads first. Less the bytes asked for in one access per call, or pieces of 16 MiB, at
--   the store's cost
-- sure:   0.8
-- fix:    {mend}
-- knob:   [dxpl_mpio={transfer}]
-- causes: requests, contention, needless, unexplained, transfer
-- seen:   Thakur, Gropp, Lusk 1999; HDF5 User's Guide, parallel HDF5
with call as (
	select
		d.call, d.file, d.process, d.caller as kind, max(asked) as asked, sum(d.moves) filter (d.kind = d.caller) as moves,
		sum(d.bytes) filter (d.kind = d.caller) as bytes, sum(d.time) as time
	from driver_transfers() as d
	where d.raw and d.caller in ('read', 'write')
	group by d.call, d.file, d.process, d.caller
	having moves >= 8
),
process as (
	select
		d.file, d.kind, d.process, count(*) as n, sum(d.moves) as moves, sum(d.bytes) as bytes, sum(least(d.bytes, coalesce(d.asked, d.bytes))) as asked,
		sum(d.time) / 1e9 as seconds, max_by(d.call, d.time, 8) as calls
	from call as d join calls as c on c.id = d.call
	where c.collective is null
	group by d.file, d.kind, d.process
),
cut as (
	select
		p.place, m.kind, m.process, bool_or(m.file in (from mpiio_files())) as shared,
		sum(m.n) as n, sum(m.moves) as moves, sum(m.bytes) as bytes, sum(m.asked) as asked, sum(m.seconds) as seconds,
		flatten(max_by(m.calls, m.seconds, 2)) as calls,
		sum(m.seconds - greatest(m.n, ceil(m.asked / 16777216)) * s.latency - m.asked * s.per_byte) as lost
	from process as m join places() as p using (file) join access_costs() as s on s.file = m.file and s.kind = m.kind
	where s.half is null or m.bytes / m.moves < s.half or m.bytes > 2 * m.asked
	group by p.place, m.kind, m.process
)
select
	place as path,
	kind as what,
	sum(n)::hugeint as n,
	sum(asked) / sum(n) as size,
	sum(moves)::hugeint as moves,
	sum(bytes) / sum(moves) as piece,
	if(count(*) = 1, 'one process', format('{} processes', count(*))) as who,
	max(seconds) as seconds,
	if(
		count(*) > 1 and bool_or(shared), 'make the transfers collective: H5Pset_dxpl_mpio(H5FD_MPIO_COLLECTIVE)',
		if(kind = 'read', 'one H5Dread of a block instead of many of its columns', 'select whole rows of the slowest dimensions')
			|| ', or lay the dataset out in chunks of the shape that is selected (H5Pset_chunk)'
	) as mend,
	if(count(*) > 1 and bool_or(shared), 'collective', null) as transfer,
	max_by(calls, seconds) as calls,
	max(lost) as lost
from cut
group by place, kind
having max(lost) > 0
