-- Each file system that files were on: what was moved to and from its files, and the time of outermost calls on them.
select
	f.file_system,
	f.mount,
	count(*)::bigint as files,
	sum(bytes_read) as bytes_read,
	sum(bytes_written) as bytes_written,
	sum(each.time) as time
from ({files}) as each join files as f using (file)
where coalesce(f.kind, 'unknown') in ('regular', 'unknown') and {of_files}
group by f.file_system, f.mount
order by time desc, f.file_system, f.mount
