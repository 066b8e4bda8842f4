-- Reads and writes of files that say nothing of where: offsets that are not known, calls on attributes, on several datasets at once.
with recursive {top}
select
	any_value(f.path) as path,
	top.file,
	layer,
	direction,
	case
		when layer not in ('netcdf', 'pnetcdf', 'hdf5') then 'offset not known'
		when o.class = 'hdf5_attribute' or regexp_matches(op, '_att|H5A') then 'attribute'
		else 'several at once'
	end as what,
	count(*)::bigint as calls,
	coalesce(sum(moved), 0) as bytes
from top join files as f on f.file = top.file left join objects as o using (object)
where direction is not null and
	case
		when layer in ('netcdf', 'pnetcdf', 'hdf5') then coalesce(o.class, '') not in ('hdf5_dataset', 'pnetcdf_variable', 'netcdf_variable')
		else selection is null and file_offset is null
	end
group by top.file, layer, direction, what
order by top.file, layer, direction, what
