-- The first and the last path: what they have in common, all have.
select min(path) as first, max(path) as last from files as f where path like '/%' and {of_files}
