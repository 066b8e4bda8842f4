-- What was asked for and what is in force of files, datasets and variables: hints, properties, layouts, and what a log of Darshan says of them
-- besides their calls. Of those that have the same value one is named. Settings of `fathom run --tuned` are in tuned.sql.
select
	h.key as setting,
	h.value,
	h.source,
	count(distinct h.process)::bigint as processes,
	count(distinct h.file)::bigint as files,
	min(case when o.class not in ('mpi_file', 'hdf5_file', 'pnetcdf_file', 'netcdf_file', 'descriptor', 'path') then o.name end) as thing,
	min(f.path) as path
from hints_in_force as h left join objects as o on o.object = h.object left join files as f on f.file = h.file
where h.key not like 'tuned %'
group by h.key, h.value, h.source
order by setting, processes desc, value, source
