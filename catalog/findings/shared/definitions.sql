-- Data that a netCDF library moved when a definition ended: classic form, by system calls or by MPI-IO. (What is in HDF5's form has
-- HDF5's calls between: shared/driver.sql.) Columns: id, op, process, file, read, written (bytes), time (ns), calls.
with moved as (
	select d.id, d.op, c.process, c.file, c.kind, c.bytes, c.duration as time, c.id as worst
	from calls as c join {enddefs} as d on c.parent = d.id
	where c.layer = 'posix' and c.kind in ('read', 'write') and c.file is not null
	union all
	select d.id, d.op, t.process, t.file, t.kind, t.moved, t.io, t.id from {transfers} as t join {enddefs} as d on t.parent = d.id
)
select
	id, op, process, file,
	coalesce(sum(bytes) filter (kind = 'read'), 0)::hugeint as read,
	coalesce(sum(bytes) filter (kind = 'write'), 0)::hugeint as written,
	sum(time)::hugeint as time,
	max_by(worst, time, 2) as calls
from moved
group by id, op, process, file
