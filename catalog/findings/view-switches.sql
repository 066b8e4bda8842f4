-- title:  The view of a file is set again and again
-- layer:  mpiio
-- limit:  the program sets the view more than once for every two reads or writes, and 16 times an open or more. Views that a
--   library sets are its own
-- says:   {path}: the view was set {n:count} times for {data:count} reads and writes of each rank; {seconds:seconds} from the last rank's
--   arrival to the last one's leave
-- lost:   from the last rank's arrival to the last one's leave, but for one view of each open
-- sure:   0.6
-- fix:    one view and explicit offsets (MPI_File_write_at_all), or a datatype that covers several accesses
-- causes: names, exchange, waiting
-- seen:   Thakur, Gropp, Lusk 1999
with own as (
	select collective, any_value(file) as file, max_by(id, duration) as id
	from calls
	where op = 'MPI_File_set_view' and collective is not null and is_outermost_call(depth, parent)
	group by collective
),
view as (
	select
		o.file, count(*) as n, count(distinct row(c.group_hash, c.open_ordinal)) as opens, sum(c.last_leave - c.last_enter) / 1e9 as seconds,
		max_by(o.id, c.last_leave - c.last_enter, 4) as calls
	from own as o join collectives as c using (collective)
	group by o.file
),
data as (
	select file, sum(calls - errors) / count(distinct process) as n from counters where layer = 'mpiio' and kind in ('read', 'write') group by file
)
select
	p.place as path,
	sum(v.n)::hugeint as n,
	sum(d.n)::hugeint as data,
	sum(v.seconds) as seconds,
	flatten(max_by(v.calls, v.seconds, 2)) as calls,
	sum(v.seconds * (1 - v.opens / v.n)) as lost
from view as v join data as d using (file) join places() as p using (file)
where v.n >= 16 * v.opens and v.n > 0.5 * d.n
group by p.place
