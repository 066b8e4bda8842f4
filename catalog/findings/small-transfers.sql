-- title:  A library is called for each small piece
-- layer:  hdf5, netcdf, pnetcdf
-- limit:  a process makes 256 calls and more of HDF5, netCDF or PnetCDF on one file, 64 for each dataset or variable. They move 16 KiB on average
--   at most. Where MPI-IO is below, ranks talk in the library; where data are filtered, that is its work: of neither is anything said
-- says:   {path}: {n:count} {what}s of {size:size} on average by {who}; {library} itself took {seconds:seconds} of the slowest, {each:seconds} a call
-- lost:   the library's own time in these calls, less a copy of their bytes at 1 GB/s. As many calls stay as there are MiB
-- sure:   0.6
-- fix:    {todo}[python: . What the Python module does for each call, tens of us, is won on top]
-- needs:  counters
-- causes: library
-- when:   exists (from counters where layer in ('hdf5', 'netcdf', 'pnetcdf') and kind in ('read', 'write') and calls >= 256 and bytes < 16384 * calls)
-- seen:   h5py's and HDF5's forums, appending row by row; each call checks and selects anew, some 10 us of HDF5
with datasets as (
	select file, count(distinct name) as n from objects where class in ('hdf5_dataset', 'netcdf_variable', 'pnetcdf_variable') group by file
),
small as (
	select file, process, layer, kind, sum(calls - errors) as n, sum(bytes)::double as bytes
	from own_counters() as c
	where layer in ('hdf5', 'netcdf', 'pnetcdf') and kind in ('read', 'write') and file not in (from account_filtered()) and file not in (from mpiio_files())
	group by all
	having n >= 256 and n >= 64 * coalesce((select max(d.n) from datasets as d where d.file = c.file), 1) and sum(bytes) < 16384 * n
),
cells as (
	select file, process, kind, sum(time) / 1e9 as seconds
	from account()
	where cause = 'library' and layer in ('hdf5', 'netcdf', 'pnetcdf') and file in (select file from small)
	group by all
),
of_process as (
	select
		p.place, s.layer, s.kind, s.process, list(s.file) as files, sum(s.n) as n, sum(s.bytes) as bytes, sum(c.seconds) as seconds,
		sum(c.seconds - s.bytes / 1e9 - c.seconds / s.n * ceil(s.bytes / 1048576)) as lost
	from small as s join cells as c using (file, process, kind) join places() as p using (file)
	group by p.place, s.layer, s.kind, s.process
),
example as (
	select p.place, c.layer, c.kind, max_by(c.id, c.duration, 8) as calls
	from calls as c join places() as p using (file)
	where c.topmost and c.file in (select file from small) and c.kind in ('read', 'write')
	group by all
)
select
	place as path,
	kind as what,
	kind as cell_way,
	layer as cell_layer,
	case layer when 'hdf5' then 'HDF5' when 'netcdf' then 'netCDF' else 'PnetCDF' end as library,
	flatten(list(files)) as cell_files,
	sum(n)::hugeint as n,
	sum(bytes) / sum(n) as size,
	if(count(*) = 1, 'one process', format('{} processes', count(*))) as who,
	max(seconds) as seconds,
	max_by(seconds / n, seconds) as each,
	if(size > 1048576 / max(n), format('{:,}', floor(1048576 / size)::bigint), 'all') as many,
	if(
		kind = 'read', 'read ' || many || ' of these pieces at once, as one block of their dataset or variable, and take them out of memory',
		'gather ' || many || ' of these pieces in memory, and write them at once, as one block of their dataset or variable'
	) as todo,
	any_value(calls) as calls,
	max(lost) as lost
from of_process left join example using (place, layer, kind)
group by place, layer, kind
