-- Files that handles are on, but for pipes and the like.
select file, path, kind, file_system, mount from files
where file in (select file from handle) and coalesce(kind, 'unknown') in ('regular', 'directory', 'block', 'unknown') and path <> ''
order by file
