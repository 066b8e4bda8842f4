-- The {limit} longest of the selected calls on files.
with {lane}
select
	c.id as call, lane.lane, c.layer, c.op, c.file, c.start, c.duration, c.file_offset, c.size, c.bytes, c.error
from (
	select * from calls as c
	where file is not null and {selected} and {least} and {any_io}
	order by duration desc, id
	limit {limit}
) as c join lane using (process)
order by c.duration desc, c.id
