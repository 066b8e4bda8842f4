-- Reads and writes that reached the file system, of files: `$files`.
select
	coalesce(sum(calls) filter (kind = 'read'), 0) as reads,
	coalesce(sum(calls) filter (kind = 'write'), 0) as writes
from counters
where layer in ('posix', 'aio') and coalesce(enclosing_layer, '') not in ('posix', 'aio') and list_contains($files, file)
