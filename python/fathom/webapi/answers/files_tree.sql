-- What lies in the folder {under}: files, and folders with all that lies in them, those with the most time first.
with {file_calls},
{sums},
placed as (
	select s.*, f.path, substr(f.path, length({under}) + 1) as rest
	from sums as s join files as f using (file)
	where starts_with(f.path, {under}) and {of_files}
)
select
	if(contains(rest, '/'), null, file) as file,
	{under} || if(contains(rest, '/'), split_part(rest, '/', 1) || '/', rest) as path,
	count(*) as files,
	max(lanes)::bigint as "most lanes",
	sum(calls) as calls,
	sum(bytes_read) as "bytes read",
	sum(bytes_written) as "bytes written",
	coalesce(sum(time), 0) as time
from placed
group by all
order by time desc, path, file
