-- title:  The view of a file is set again and again
-- layer:  mpiio
-- limit:  the program sets the view more than once for every two reads or writes, and 16 times an open or more. Views that a
--   library sets are its own, where the run has that library's calls
-- says:   {path}: the view was set {n:count} times for {data:count} reads and writes of each rank[; {met:seconds} from the last rank's
--   arrival to the last one's leave][; {least:seconds} to {most:seconds} of a rank]
-- lost:   from the last rank's arrival to the last one's leave, but for one view of each open. Of views that were only counted the time of
--   the rank that they took least, since others wait in them for it
-- sure:   0.6
-- fix:    one view and explicit offsets (MPI_File_write_at_all), or a datatype that covers several accesses[hdf5|netcdf: . HDF5 and
--   netCDF-4 set it twice for each collective transfer: fewer and larger transfers, and no fill values]
-- needs:  counters
-- causes: exchange, waiting, library
-- seen:   Thakur, Gropp, Lusk 1999
with own as (
	select file, process, sum(calls - errors) as n, sum(time) / 1e9 as seconds
	from counters
	where layer = 'mpiio' and op = 'MPI_File_set_view' and is_outermost(enclosing_layer, enclosing) and file is not null
	group by file, process
),
opened as (
	select file, process, sum(calls - errors) as opens from counters where layer = 'mpiio' and op = 'MPI_File_open' group by file, process
),
data as (
	select file, sum(calls - errors) / count(distinct process) as n from counters where layer = 'mpiio' and kind in ('read', 'write') group by file
),
view as (
	select file, max(n) as n, greatest(1, max(coalesce(opens, 1))) as opens, min(seconds) as least, max(seconds) as most
	from own left join opened using (file, process)
	group by file
),
-- Calls that are known one by one, by who opened the file together.
together as (
	select collective, any_value(file) as file, max_by(id, duration) as id
	from calls
	where op = 'MPI_File_set_view' and collective is not null and is_outermost_call(depth, parent)
	group by collective
),
of_group as (
	select
		t.file, c.group_hash, sum(c.last_leave - c.last_enter) / 1e9 as seconds,
		max_by(t.id, c.last_leave - c.last_enter, 4) as calls
	from together as t join collectives as c using (collective)
	group by t.file, c.group_hash
),
met as (
	select file, max(seconds) as seconds, arg_max(calls, seconds) as calls from of_group group by file
),
switched as (
	select
		p.place as path, v.*, d.n as data, m.seconds as met, coalesce(m.seconds, v.least) * (1 - v.opens / v.n) as lost,
		coalesce(m.calls, []) as calls
	from view as v join data as d using (file) join places() as p using (file) left join met as m using (file)
	where v.n >= 16 * v.opens and v.n > 0.5 * d.n
)
select
	path,
	list(file) as cell_files,
	sum(n)::hugeint as n,
	sum(data)::hugeint as data,
	sum(met) as met,
	if(sum(met) is null, sum(least), null) as least,
	if(sum(met) is null, sum(most), null) as most,
	flatten(max_by(calls, lost, 2)) as calls,
	sum(lost) as lost,
	if(sum(met) is null, sum(most * (1 - opens / n)), null) as high
from switched
group by path
having sum(lost) > 0
