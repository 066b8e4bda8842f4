-- How many files were read only, written only, both or neither, and by one process or by several: Darshan's file count table.
select
	case
		when bytes_read > 0 and bytes_written > 0 then 'read and written'
		when bytes_read > 0 then 'read only'
		when bytes_written > 0 then 'written only'
		else 'no data'
	end as use,
	count(*)::bigint as files,
	count(*) filter (processes = 1)::bigint as by_one,
	count(*) filter (processes > 1)::bigint as shared,
	sum(bytes_read + bytes_written) as bytes,
	max(bytes_read + bytes_written) as most_bytes
from ({files}) as each join files as f using (file)
where coalesce(f.kind, 'unknown') in ('regular', 'unknown') and {of_files}
group by use
order by bytes desc, files desc, use
