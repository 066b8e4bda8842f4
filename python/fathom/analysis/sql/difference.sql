-- What differs between two runs.

-- What was asked for and what was in force of each file, dataset and variable; all values that its opens had.
create or replace macro difference_hints() as table
select
	f.path,
	coalesce(o.class, 'file') as class,
	case when o.class not in ('mpi_file', 'hdf5_file', 'pnetcdf_file', 'netcdf_file', 'descriptor', 'path') then o.name else '' end as name,
	h.source,
	h.key as setting,
	string_agg(distinct h.value, ' | ' order by h.value) as value
from hints_in_force as h
left join objects as o on o.object = h.object
join files as f on f.file = h.file
group by all;

-- What MPI communicated: for the program, and below MPI-IO (the exchange, or as much of it as can be seen).
create or replace macro difference_mpi() as table
select
	if(enclosing_layer = 'mpiio', 'mpi < mpiio', 'mpi') as layer,
	sum(calls) as calls,
	sum(bytes) as bytes,
	sum(time) / 1e9 as exclusive_seconds,
	sum(time) / 1e9 as inclusive_seconds
from counters
where layer = 'mpi' and coalesce(enclosing_layer, 'user') in ('mpiio', 'user', 'threads')
group by all;

-- File system of each file that data was moved in, in the form of difference_hints().
create or replace macro difference_places() as table
with placed as (
	select path, any_value(file_system) as file_system, any_value(mount) as mount
	from files
	where kind = 'regular' and file_system is not null and file in (select file from counters where kind in ('read', 'write') and bytes > 0)
	group by path
)
select path, 'file' as class, '' as name, 'file system' as source, unnest(['type', 'mount']) as setting, unnest([file_system, mount]) as value
from placed;

-- Settings of files that both runs have, alike differences together. The two: names of rows of difference_hints() and
-- difference_places() of each run.
create or replace macro difference_settings(settings_of_first, settings_of_second) as table
with paths as (
	select path from query_table(settings_of_first) intersect select path from query_table(settings_of_second)
),
joined as (
	select source, class, setting, path, name, a.value as a, b.value as b
	from query_table(settings_of_first) as a full join query_table(settings_of_second) as b using (source, class, setting, path, name)
	where path in (from paths) and a.value is distinct from b.value
		-- Of runs that were counted at level job it is not told which files were used.
		and (source <> 'file system' or a.value is not null and b.value is not null)
),
grouped as (
	select source, class, setting, a, b, count(*) as places, min({'path': path, 'name': name}) as example
	from joined group by source, class, setting, a, b
)
select source as what, class as of, setting, a, b, places, example.path || if(example.name = '', '', ': ' || example.name) as example
from grouped
order by source, class, setting, grouped.example;
