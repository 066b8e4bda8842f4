-- title:  Compression takes the time, not the storage
-- layer:  hdf5
-- limit:  HDF5's own time in reads, writes, flushes and closes of a file with filtered datasets is more than what is below it
-- says:   {path}: HDF5 itself took {seconds:seconds} of the slowest process with {filters} of {asked:size}; the storage took {below:seconds}
-- lost:   HDF5's own time, less what the same bytes take without a filter. That is a copy at 1 GB/s, and what the filter saved at the
--   store's rate
-- sure:   0.6
-- fix:    {todo}
-- needs:  counters
-- causes: library
-- seen:   h5py users' reports; HDF5 User's Guide, filters
with filtered as (
	select file, string_agg(distinct value, ', ' order by value) as filters
	from hints_in_force
	where key = 'filters' and file in (from account_filtered())
	group by file
),
own as (
	select c.file, c.process, sum(c.bytes)::double as asked, any_value(c.kind) filter (c.kind in ('read', 'write')) as kind
	from own_counters() as c where c.kind in ('read', 'write') and c.file in (select file from filtered)
	group by all
),
cells as (
	select
		file, process, sum(time) filter (layer = 'hdf5' and cause = 'library') / 1e9 as seconds,
		coalesce(sum(time) filter (layer = 'hdf5' and cause = 'library' and kind = 'read'), 0) / 1e9 as reading,
		coalesce(sum(time) filter (is_system(layer)), 0) / 1e9 as below
	from account() where file in (select file from filtered) group by all
),
moved as (
	select file, sum(bytes)::double as bytes from counters where kind in ('read', 'write') and reaches_storage(layer, enclosing_layer) group by file
),
process as (
	select
		p.place as path, c.process, list(c.file) as files, any_value(f.filters) as filters,
		max(list_max(regexp_extract_all(f.filters, 'deflate\((\d+)\)', 1)::int[])) as level, sum(c.seconds) as seconds, sum(c.below) as below,
		sum(c.reading) as reading, sum(o.asked) as asked,
		sum(c.seconds - o.asked / 1e9 - greatest(0, o.asked - coalesce(m.bytes, 0)) * coalesce(r.per_byte, 0)) as lost
	from cells as c join own as o using (file, process) join filtered as f using (file) join places() as p on p.file = c.file
		left join moved as m on m.file = c.file left join account_references() as r on r.file = c.file and r.kind = o.kind
	group by p.place, c.process
),
site as (
	select p.place as path, max_by(c.id, c.duration, 2) as calls, sum(c.duration) as time
	from calls as c join places() as p using (file)
	where c.layer = 'hdf5' and c.topmost and c.kind in ('read', 'write', 'sync', 'close') and c.file in (select file from filtered)
	group by p.place, c.op, c.site
),
example as (select path, flatten(max_by(calls, time, 4)) as calls from site group by path)
select
	path,
	'[hdf5:  (LZF, Zstandard, Blosc)][netcdf 4.9:  (Zstandard, Blosc)]' as quicker,
	-- How long it takes to unpack hardly depends on the level.
	if(
		arg_max(2 * reading > seconds, seconds),
		'a quicker filter' || quicker || ', or none where the store has room, in a file that is made anew (h5repack). Chunks that are read as a whole',
		'a quicker filter' || quicker || ', ' || if(max(level) > 1, 'a lower level[hdf5:  (H5Pset_deflate 1)][netcdf:  (nc_def_var_deflate 1)], ', '')
			|| 'or none where the store has room. Chunks that are written as a whole'
	) as todo,
	arg_max(files, seconds) as cell_files,
	any_value(filters) as filters,
	max(seconds) as seconds,
	arg_max(below, seconds) as below,
	arg_max(asked, seconds)::hugeint as asked,
	max(lost) as lost,
	coalesce(any_value(calls), []) as calls
from process left join example using (path)
where seconds > below and lost > 0
group by path
