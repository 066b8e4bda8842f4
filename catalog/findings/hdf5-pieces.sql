-- title:  A selection of HDF5 is moved piece by piece
-- layer:  hdf5
-- limit:  independent transfers of raw data that make 8 accesses or more each, smaller than `half` (store_costs()). HDF5 makes
--   one for each stretch of the file; a collective transfer hands all of them to MPI-IO at once
-- says:   {path}: {n:count} independent {what}s of {size:size} by {who} became {moves:count} accesses of {piece:size}; {seconds:seconds} of the slowest
-- lost:   the slowest process's transfers, less the same bytes in one access per call, or pieces of 16 MiB, at the store's cost
-- sure:   0.8
-- fix:    {mend}
-- knob:   [dxpl_mpio={transfer}]
-- causes: requests, contention, needless, unexplained, transfer
-- seen:   Thakur, Gropp, Lusk 1999; HDF5 User's Guide, parallel HDF5
with process as (
	select
		d.file, d.kind, d.process, count(*) as n, sum(d.moves) as moves, sum(d.bytes) as bytes, sum(d.time) / 1e9 as seconds,
		max_by(d.call, d.time, 8) as calls
	from driver_transfers() as d join calls as c on c.id = d.call
	where d.raw and d.caller = d.kind and c.collective is null and d.moves >= 8
	group by d.file, d.kind, d.process
),
cut as (
	select
		p.place, m.kind, m.process, bool_or(m.file in (from mpiio_files())) as shared,
		sum(m.n) as n, sum(m.moves) as moves, sum(m.bytes) as bytes, sum(m.seconds) as seconds,
		flatten(max_by(m.calls, m.seconds, 2)) as calls,
		sum(m.seconds - greatest(m.n, ceil(m.bytes / 16777216)) * s.latency - m.bytes * s.per_byte) as lost
	from process as m join places() as p using (file) join access_costs() as s on s.file = m.file and s.kind = m.kind
	where s.half is null or m.bytes / m.moves < s.half
	group by p.place, m.kind, m.process
)
select
	place as path,
	kind as what,
	sum(n)::hugeint as n,
	sum(bytes) / sum(n) as size,
	sum(moves)::hugeint as moves,
	sum(bytes) / sum(moves) as piece,
	if(count(*) = 1, 'one process', format('{} processes', count(*))) as who,
	max(seconds) as seconds,
	if(
		count(*) > 1 and bool_or(shared), 'make the transfers collective: H5Pset_dxpl_mpio(H5FD_MPIO_COLLECTIVE)',
		'select whole rows of the slowest dimensions, or lay the dataset out in chunks of the shape that is selected'
	) as mend,
	if(count(*) > 1 and bool_or(shared), 'collective', null) as transfer,
	max_by(calls, seconds) as calls,
	max(lost) as lost
from cut
group by place, kind
having max(lost) > 0
