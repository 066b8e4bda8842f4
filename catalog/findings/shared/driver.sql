-- What HDF5 had its file driver move, of each of its calls: raw data or metadata (docs/tables.md). Times in ns. Of runs without such
-- calls nothing is read but the layer.
-- Columns: call (HDF5's, null: not known), op, caller (its kind), object, asked (bytes), process, file, kind, raw (false: metadata),
-- n (calls of the driver), moves (of MPI-IO or POSIX below), bytes, time, worst (id of a driver's call).
with type as (
	select call as id, value = 3 as raw from args where name = 'mem_type' and exists (from {driver_calls})
),
below as (
	select parent as id, any_value(file) as file, count(*) as moves, coalesce(sum(bytes), 0)::hugeint as bytes
	from calls
	where layer in ('posix', 'mpiio') and kind in ('read', 'write') and parent in (select id from {driver_calls})
	group by parent
),
each as (
	select
		d.parent as call, d.process, b.file, d.kind, t.raw, count(*) as n, sum(b.moves)::hugeint as moves, sum(b.bytes)::hugeint as bytes,
		sum(d.duration)::hugeint as time, max_by(d.id, d.duration) as worst
	from {driver_calls} as d join type as t using (id) join below as b using (id)
	group by all
),
caller as (
	select id, op, kind, object, size from calls where id in (select parent from {driver_calls})
)
select e.*, c.op, c.kind as caller, c.object, c.size as asked
from each as e left join caller as c on c.id = e.call
