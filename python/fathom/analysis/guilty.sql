-- The program's own I/O calls of each group of files (null: no file, or files are not known), kind of call and process.
select {file_group} as file_group, c.kind, c.process, p.rank, sum(c.time)::bigint as time
from counters as c join processes as p using (process) left join files as f using (file)
where (enclosing is null or enclosing_layer in ('user', 'threads')) and layer not in ('fathom', 'user', 'threads') and c.kind <> 'comm'
	and {of_files}
group by all
order by time desc, file_group, c.kind, c.process
