-- What each rank selected of each dataset or variable. One row per rank and shape: `starts`, the row-major indices of where the shape was put
-- (-1: not known), each once; selection null: everything.
with recursive {top},
begun as (
	select call, value from args where name = 'start'
),
variable as (
	select object, name, extents, element_bytes
	from objects
	where class in ('hdf5_dataset', 'pnetcdf_variable', 'netcdf_variable')
),
placed as (
	select top.*, v.name, v.extents, v.element_bytes, case when op like '%chunk%' then -1 else coalesce(b.value, -1) end as spot
	from top join variable as v using (object) left join begun as b on b.call = top.id
	where layer in ('netcdf', 'pnetcdf', 'hdf5') and direction is not null
)
select
	any_value(f.path) as path,
	placed.file,
	layer,
	name,
	direction,
	who,
	selection,
	max(extents) as extents,
	max(element_bytes)::bigint as element_bytes,
	list(distinct spot order by spot) as starts,
	count(*)::bigint as calls,
	count(*) filter (collective is not null)::bigint as collective,
	count(*) filter (placed.kind = 'post')::bigint as posted,
	coalesce(sum(moved), 0) as bytes,
	min(start)::bigint as first_start
from placed join files as f on f.file = placed.file
group by placed.file, layer, name, direction, who, selection
order by placed.file, layer, name, direction, who, selection
