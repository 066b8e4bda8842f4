-- The program's own I/O calls of each group of files (null: no file, or files are not known), kind of call and process.
select {file_group} as file_group, c.kind, c.process, p.rank, sum(c.time) as time
from counters as c join processes as p using (process) left join files as f using (file)
where {own_io}
group by all
order by time desc, file_group, c.kind, c.process
