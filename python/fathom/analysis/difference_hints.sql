-- What was asked for and what was in force of each file, dataset and variable; all values that its opens had.
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
group by all
