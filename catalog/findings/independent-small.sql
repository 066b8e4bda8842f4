-- title:  Small independent accesses of ranks to one file
-- layer:  mpiio
-- limit:  several ranks read or write one file by independent calls of MPI-IO. They have 256 KiB on average at most, and a rank makes 256
--   and more, so they could be fewer and larger. Where HDF5 says that it broke up collective transfers, that is said instead
-- says:   {path}: {n:count} independent {what}s of {size:size} on average by {ranks:count} ranks took the slowest {seconds:seconds}, of which {store:seconds}
--   at the storage; the store needs about {after:seconds} for as many bytes
-- lost:   these calls of the slowest rank, less what all their bytes take at the rate of the file's servers. Its own bytes take at least
--   what the rate of one process allows. The interval is that of the rates
-- sure:   0.7
-- fix:    larger pieces, gathered in memory. Or one collective call for all of a step: [mpiio: MPI_File_{what}_all][hdf5:
--   H5Pset_dxpl_mpio collective][netcdf: nc_var_par_access NC_COLLECTIVE][pnetcdf: the _all calls]{stripes}[hdf5: . Where transfers are
--   collective already, H5Pget_mpio_no_collective_cause says why HDF5 breaks them up]
-- needs:  counters
-- causes: requests, contention, locks, needless, library, unexplained, transfer
-- seen:   Thakur, Gropp, Lusk 1999; Bez et al. 2023 (AIIO): openPMD, 1,023 s independent, 741 s collective
with cells as (
	-- What the account has of them, of each process.
	select file, direction(kind, op) as what, process, sum(time) / 1e9 as seconds, sum(time) filter (is_system(layer)) / 1e9 as store
	from account()
	where not collective and layer in ('mpiio', 'posix') and file in (select file from small_independent())
	group by all
),
slowest as (
	select file, what, max(seconds) as cells, arg_max(store, seconds) as store from cells group by file, what
),
example as (
	select file, direction(kind, op) as what, max_by(id, duration, 8) as calls
	from calls
	where layer = 'mpiio' and collective is null and direction(kind, op) is not null and file in (select file from slowest)
	group by all
),
broken as (
	select c.file from calls as c join args as a on a.call = c.id where a.name = 'no_collective' and a.value > 0
),
priced as (
	select
		f.*, s.cells, coalesce(s.store, 0) as store, t.stripes, p.place as path,
		greatest(most * e.per_byte, bytes * e.served / coalesce(t.stripes, 1)) as after,
		greatest(most * e.per_byte_low, bytes * e.served_low / coalesce(t.stripes, 1)) as least_after,
		greatest(most * e.per_byte_high, bytes * e.served_high / coalesce(t.stripes, 1)) as most_after
	from small_independent() as f join slowest as s using (file, what) join places() as p using (file)
		join account_references() as e on e.file = f.file and e.kind = f.what left join file_layouts() as t on t.file = f.file
	where f.file not in (select file from broken)
)
select
	path,
	[file] as cell_files,
	what as cell_way,
	what,
	n,
	ranks,
	bytes / n as size,
	seconds,
	store,
	after,
	if(stripes < ranks // 8, format('. More stripes than {}, too: as many servers work at once', stripes), '') as stripes,
	greatest(0, cells - most_after) as low,
	cells - after as lost,
	cells - least_after as high,
	coalesce(example.calls, []) as calls
from priced left join example using (file, what)
where lost > 0
