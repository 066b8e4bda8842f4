-- What was asked of file {file} by reads that no other call of these layers holds: the program's, or those of a library of arrays.
select layer, selection, file_offset, coalesce(bytes, size) as bytes
from (select * from calls as c where file = {file} and {selected}) as c
	left join (select id from calls where file = {file} and layer in ('posix', 'aio', 'stdio', 'mpiio')) as p on p.id = c.parent
where p.id is null and layer in ('posix', 'aio', 'stdio', 'mpiio') and error = 0 and coalesce(bytes, size) > 0
	and (kind = 'read' or kind = 'post' and layer <> 'aio' and contains(op, 'read'))
