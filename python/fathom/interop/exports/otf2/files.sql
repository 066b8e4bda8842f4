-- Files that handles are on, but for pipes and the like. `scope`: number of the system tree's node that knows the file by this name: of a local
-- file system its own, else the machine (0).
select file, path, kind, file_system, mount,
	coalesce((select min(node) + 1 from nodes where starts_with(files.key, nodes.boot_id || ':')), 0) as scope
from files
where file in (select file from handle) and coalesce(kind, 'unknown') in ('regular', 'directory', 'block', 'unknown') and path <> ''
order by file
