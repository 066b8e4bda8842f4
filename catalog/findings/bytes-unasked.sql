-- title:  More bytes moved than the program asked for
-- layer:  hdf5, netcdf, pnetcdf, mpiio
-- limit:  a library's reads or writes of a file moved twice the bytes that the program asked for in that direction, and a MiB more. At level
--   `job`, which knows no files, of all files together
-- says:   {path}: {asked:size} asked for, {moved:size} {what}, {times:times} as much; {seconds:seconds} of the slowest process went to bytes that
--   nobody asked for{layout}
-- lost:   what moving the bytes that nobody asked for took the slowest process
-- sure:   0.6
-- fix:    {fix}
-- needs:  counters
-- causes: needless, requests, unexplained, contention
-- seen:   h5py users: columns of a contiguous dataset; HDF5 User's Guide, H5Pset_sieve_buf_size; Thakur, Gropp, Lusk 1999 (data sieving)
with known as (
	select exists (from counters where file is not null) as files_known
),
asked as (
	select coalesce(file, -1) as file, way, sum(bytes)::double as bytes
	from (select *, unnest(directions(kind, op)) as way from own_counters() where is_library(layer))
	where file is not null or not (select files_known from known)
	group by all
),
moved as (
	select coalesce(file, -1) as file, kind as way, sum(bytes)::double as bytes, sum(calls - errors) as n
	from counters
	where kind in ('read', 'write') and reaches_storage(layer, enclosing_layer) and enclosing_layer is not null
	group by all
),
cells as (
	select coalesce(file, -1) as file, direction(kind, op) as way, process, sum(time) filter (cause = 'needless') / 1e9 as seconds
	from account()
	group by all
),
-- Collective writes that read first are a finding of their own.
read_first as (
	select c.file
	from counters as c join account_collectives() as o on o.layer = c.enclosing_layer and o.op = c.enclosing
	where is_system(c.layer) and o.kind = 'write' and c.kind in ('read', 'write')
	group by c.file
	having 2 * sum(c.calls) filter (c.kind = 'read') >= sum(c.calls) filter (c.kind = 'write')
),
worst as (
	select file, way, max(seconds) as seconds from cells group by all having max(seconds) > 0
),
example as (
	select file, direction(kind, op) as way, max_by(id, duration, 8) as calls
	from calls
	where is_library(layer) and is_outermost_call(depth, parent) and direction(kind, op) is not null and file is not null
	group by all
),
contiguous as (
	select file, bool_or(value = 'contiguous') as contiguous, bool_or(value = 'chunked') as chunked
	from hints_in_force join objects using (object, file) where key = 'layout' group by file
)
select
	coalesce(p.place, 'all files') as path,
	list(p.file) filter (p.file is not null) as cell_files,
	a.way as cell_way,
	if(a.way = 'read', 'read', 'written') as what,
	sum(a.bytes) as asked,
	sum(m.bytes) as moved,
	sum(m.bytes) / sum(a.bytes) as times,
	max(w.seconds) as seconds,
	if(bool_or(c.contiguous), '; its datasets are contiguous', '') as layout,
	case
		when bool_or(c.contiguous)
			then 'one H5Dread of a block instead of many of its columns, or chunks of the shape that is read (H5Pset_chunk): HDF5 reads its sieve '
				|| 'buffer (H5Pset_sieve_buf_size, 64 KiB) for each piece'
		when bool_or(c.chunked)
			then 'chunks of the shape that is read or written at once (H5Pset_chunk), or a chunk cache that holds them (H5Pset_chunk_cache)'
		when bool_or(a.file in (from mpiio_files()))
			then 'larger pieces, or a collective call; MPI-IO: romio_ds_read, romio_ds_write = disable where pieces lie far apart'
		else 'larger pieces, in the order of the file[hdf5: ; or chunks of the shape that is read or written at once (H5Pset_chunk)]'
	end as fix,
	max(w.seconds) as lost,
	coalesce(flatten(max_by(e.calls, w.seconds, 2)), []) as calls
from asked as a join moved as m using (file, way) join worst as w using (file, way) left join places() as p on p.file = a.file
	left join contiguous as c on c.file = a.file left join example as e on e.file = a.file and e.way = a.way
where m.bytes > 2 * a.bytes and a.bytes > 0 and m.bytes - a.bytes > 1048576 and (p.file is not null or a.file = -1)
	and not (a.way = 'write' and a.file in (select coalesce(file, -1) from read_first))
group by p.place, a.way
