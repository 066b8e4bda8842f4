-- title:  HDF5 computes more than it moves
-- layer:  hdf5
-- limit:  datasets are not known, as at level `job`. HDF5's own time is more than what is below it. It is also three times what copies at 1 GB/s take
--   of the bytes asked for and moved, with 10 us a read or write. Filters take that, and conversion of types. Where HDF5 calls MPI-IO, ranks
--   talk in it, so nothing is said
-- says:   all files: HDF5 itself took {seconds:seconds} of the slowest process for {asked:size} asked for; it moved {moved:size} in {below:seconds}
-- lost:   HDF5's own time less those copies. Where it moved twice what was asked for and more, the share of what nobody asked for
-- sure:   0.4
-- fix:    {todo}. `fathom run --level file` says of which datasets
-- needs:  counters
-- causes: library
-- when:   exists (from counters where layer = 'hdf5' and kind in ('read', 'write')) and not exists (from objects where class = 'hdf5_dataset')
-- seen:   h5py users' reports; HDF5 User's Guide, filters; HDF5, chunking and caching
with own as (
	select process, sum(time) / 1e9 as seconds
	from account()
	where cause = 'library' and layer = 'hdf5' and not exists (from objects where class = 'hdf5_dataset')
		and process not in (select process from counters where layer = 'mpiio' and enclosing_layer = 'hdf5')
	group by process
),
asked as (
	select process, sum(bytes)::double as bytes, sum(calls) as n
	from counters
	where layer = 'hdf5' and kind in ('read', 'write') and enclosing_layer is distinct from 'hdf5'
	group by process
),
below as (
	select process, sum(bytes)::double as bytes, sum(time) / 1e9 as seconds
	from counters
	where kind in ('read', 'write') and enclosing_layer = 'hdf5' and is_system(layer)
	group by process
),
process as (
	select
		o.process, o.seconds, a.bytes as asked, b.bytes as moved, b.seconds as below, (a.bytes + b.bytes) / 1e9 + 1e-5 * a.n as copying,
		b.bytes >= 2 * a.bytes as is_needless,
		if(is_needless, o.seconds * (1 - a.bytes / b.bytes), o.seconds - copying) as lost
	from own as o join asked as a using (process) join below as b using (process)
	where o.seconds > b.seconds and o.seconds > 3 * copying
)
select
	seconds,
	asked::bigint as asked,
	moved::bigint as moved,
	below,
	if(
		is_needless,
		'chunks of the shape that is read or written at once (H5Pset_chunk), a chunk cache that holds all chunks of a call (H5Pset_chunk_cache), and '
			|| 'datasets that are opened once',
		'a quicker filter, a lower level, or none where the store has room; and types in memory as they are in the file'
	) as todo,
	lost,
	[]::ubigint[] as calls
from process
order by lost desc
limit 1
