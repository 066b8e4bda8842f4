-- From where to where file {file} was accessed by the selected calls of each layer that knows places, and how many calls' places are not known. (Their
-- bytes are summed so that what no program can have moved is said to be damage.)
select
	layer, min(file_offset) as low, max(file_offset + bytes) as high, count(*) as calls, sum(bytes) as bytes, count(*) filter (file_offset is null) as unknown
from calls as c
where file = {file} and {selected} and kind in ('read', 'write') and bytes > 0 and layer in ('posix', 'aio', 'stdio', 'mpiio')
group by layer
