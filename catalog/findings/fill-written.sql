-- title:  Fill values are written, and then the data over them
-- layer:  hdf5, netcdf
-- limit:  any raw data that the library writes while datasets are made or grow, or a definition ends. Of a netCDF definition only
--   what is beyond 64 KiB and was not read there before; of counted ones, so much each
-- says:   {path}: {size:size} of fill values were written in {op}; the slowest process took {seconds:seconds}. The program then wrote
--   {data:size} of data
-- lost:   those writes of the slowest process; the others wait for it
-- sure:   0.6
-- fix:    [hdf5: H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER) when the data cover the dataset][netcdf: nc_set_fill(ncid, NC_NOFILL, …)
--   or nc_def_var_fill with no_fill = 1]
-- knob:   fill_time=never
-- needs:  counters
-- causes: needless, transfer, requests, contention, unexplained, exchange, waiting, library, names
-- seen:   HDF5, fill value behaviour; E3SM-Project/scorpio#79
with given as (
	select h.object
	from hints_in_force as h
	where h.key = 'fill_value' and h.value = 'given'
		and h.object in (select object from hints_in_force where key = 'layout' and value = 'contiguous')
),
written as (
	select process, file, op, bytes, time, [worst] as calls
	from driver_transfers()
	where raw and kind = 'write' and op in ('H5Dcreate1', 'H5Dcreate2', 'H5Dcreate_anon', 'H5Dset_extent', 'H5Dextend')
	union all
	-- What is allocated late is filled below the first write of a part of it.
	select process, file, op, bytes - asked, (time * (1 - asked / bytes))::bigint, [worst]
	from driver_transfers()
	where raw and kind = 'write' and caller = 'write' and bytes > 1.5 * asked and object in (from given)
	union all
	select process, file, op, written, time, calls from definitions() where written > 65536 * n and read < 0.5 * written
),
process as (
	select file, op, process, sum(bytes) as bytes, sum(time) / 1e9 as seconds, flatten(max_by(calls, time, 2)) as calls
	from written
	group by file, op, process
),
data as (
	select file, sum(bytes) as bytes
	from counters
	where layer in ('hdf5', 'netcdf', 'pnetcdf') and kind = 'write' and coalesce(enclosing_layer, '') not in ('netcdf', 'pnetcdf')
	group by file
)
select
	p.place as path,
	w.op,
	sum(w.bytes)::hugeint as size,
	max(w.seconds) as seconds,
	max(coalesce(d.bytes, 0))::bigint as data,
	if(max(coalesce(d.bytes, 0)) >= 0.9 * sum(w.bytes), 0.9, 0.5) as sure,
	flatten(max_by(w.calls, w.seconds, 2)) as calls,
	max(w.seconds) as lost
from process as w join places() as p using (file) left join data as d using (file)
group by p.place, w.op
