-- Bytes [a, z) of file {file} that calls of the lowest layer read and wrote, and how often.
select kind, file_offset as a, file_offset + bytes as z, count(*) as calls
from calls as c
where file = {file} and {selected} and {which} and kind in ('read', 'write') and file_offset is not null and bytes > 0
group by all
order by kind, a, z
