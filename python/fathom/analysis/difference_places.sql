-- File system of each file that data was moved in.
select path, any_value(file_system) as file_system, any_value(mount) as mount
from files
where kind = 'regular' and file_system is not null and file in (select file from counters where kind in ('read', 'write') and bytes > 0)
group by path
