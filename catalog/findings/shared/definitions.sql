-- Data that a netCDF library moved when a definition ended: classic form, by system calls or by MPI-IO. (What is in HDF5's form has
-- HDF5's calls between: shared/driver.sql.) Columns: id, op, process, file, read, written (bytes), time (ns), calls.
with definition as materialized (
	select id, op from calls where layer in ('netcdf', 'pnetcdf') and op in ('nc_enddef', 'nc__enddef', 'ncmpi_enddef', 'ncmpi__enddef')
),
moved as (
	select d.id, d.op, c.process, c.file, c.kind, c.bytes, c.duration as time, c.id as worst
	from calls as c join definition as d on c.parent = d.id
	where exists (from definition) and c.layer = 'posix' and c.kind in ('read', 'write') and c.file is not null
	union all
	select d.id, d.op, t.process, t.file, t.kind, t.moved, t.io, t.id from {transfers} as t join definition as d on t.parent = d.id
)
select
	id, op, process, file,
	coalesce(sum(bytes) filter (kind = 'read'), 0)::bigint as read,
	coalesce(sum(bytes) filter (kind = 'write'), 0)::bigint as written,
	sum(time)::bigint as time,
	max_by(worst, time, 2) as calls
from moved
group by id, op, process, file
