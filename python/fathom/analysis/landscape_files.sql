-- Time and bytes of each file by operation, and its group: by suffix, else by name.
with {landscape_io}
select
	io.path,
	any_value(coalesce({file_suffix}, {file_group})) as file_group,
	coalesce(sum(time), 0) as time,
	coalesce(sum(time) filter (operation = 'open'), 0) as open,
	coalesce(sum(time) filter (operation = 'close'), 0) as close,
	coalesce(sum(time) filter (operation = 'read'), 0) as read,
	coalesce(sum(time) filter (operation = 'write'), 0) as write,
	coalesce(sum(time) filter (operation = 'other'), 0) as other,
	coalesce(sum(bytes) filter (operation = 'read'), 0) as bytes_read,
	coalesce(sum(bytes) filter (operation = 'write'), 0) as bytes_written
from io join files as f using (file)
where f.kind in ('regular', 'unknown')
group by io.path
order by time desc, io.path
