-- What the first rank of each group of files did with them, call after call: at most $most of each group. `files` as in uses.sql.
with recursive {top},
mine as (
	select
		{file_group} as files,
		top.file,
		who,
		start,
		top.id,
		case
			when top.kind = 'post' then 'post ' || direction
			when class in ('hdf5_dataset', 'pnetcdf_variable', 'netcdf_variable') and top.kind in ('open', 'close') then
				case when op like '%create%' then 'create dataset' else top.kind || ' dataset' end
			else top.kind
		end as step
	from top join files as f on f.file = top.file left join objects as o using (object)
	where top.kind in ('open', 'close', 'read', 'write', 'post', 'wait', 'sync')
		and coalesce(class, '') not in ('hdf5_attribute', 'hdf5_group', 'hdf5_datatype', 'hdf5_other', 'netcdf_group')
		and (top.kind <> 'post' or direction is not null)
),
one as (
	select *, row_number() over (partition by files order by start, id) as n
	from mine join (select files, min(who) as who from mine group by files) using (files, who)
)
select files, list(step order by n) as steps, max(n)::bigint as calls, any_value(who) as who
from one
where n <= $most
group by files
order by files
