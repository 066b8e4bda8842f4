-- File system of each file that data was moved in, in the form of difference_hints.sql.
with placed as (
	select path, any_value(file_system) as file_system, any_value(mount) as mount
	from files
	where kind = 'regular' and file_system is not null and file in (select file from counters where kind in ('read', 'write') and bytes > 0)
	group by path
)
select path, 'file' as class, '' as name, 'file system' as source, unnest(['type', 'mount']) as setting, unnest([file_system, mount]) as value
from placed
