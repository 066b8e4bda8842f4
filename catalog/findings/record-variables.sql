-- title:  A variable is strewn over the file, record by record
-- layer:  netcdf, pnetcdf
-- limit:  calls on several records of a variable at once, in a file of the classic form with other record variables: theirs lie
--   between
-- says:   {path}: {n:count} {what}s of several records of {variable} asked for {asked:size}; {moves:count} accesses moved {moved:size}; the
--   slowest process took {seconds:seconds}
-- lost:   those accesses of the slowest process, less the same bytes in one stretch at the store's cost
-- sure:   0.7
-- fix:    give the variable a fixed dimension, or a file of its own. Or move all variables of a record together (PnetCDF: iput or
--   iget of each, one wait_all)
-- causes: requests, contention, unexplained, transfer, needless
-- seen:   Latham et al., parallel volume rendering of netCDF; Gao et al. 2009
with variable as (
	select object, file, name, process, count(*) over (partition by process, file) as others
	from (select any_value(object) as object, file, name, process, any_value(extents) as extents
		from objects where class in ('pnetcdf_variable', 'netcdf_variable') and extents[1] = 0 group by file, name, process)
),
-- Variables have an object for each open.
strewn as (
	select o.object, v.file, v.name
	from variable as v join objects as o on o.process = v.process and o.file = v.file and o.name = v.name
	where v.others > 1 and o.class in ('pnetcdf_variable', 'netcdf_variable')
),
asked as (
	select c.id, c.process, c.kind, c.size, v.file, v.name
	from calls as c join strewn as v using (object) left join selections as s on s.selection = c.selection
	where c.kind in ('read', 'write') and c.error = 0 and (s.selection is null or s.box_count[1] > 1)
),
below as (
	select parent as id, sum(moves)::hugeint as moves, sum(moved + other_moved)::hugeint as moved, sum(io) as time
	from transfers() group by parent
	union all
	select parent, count(*), sum(bytes)::hugeint, sum(duration)
	from calls where layer = 'posix' and kind in ('read', 'write') and parent in (select id from asked)
	group by parent
),
process as (
	select
		a.file, a.name, a.kind, a.process, count(*) as n, sum(a.size)::hugeint as asked, sum(b.moves)::hugeint as moves, sum(b.moved)::hugeint as moved,
		sum(b.time) / 1e9 as seconds, max_by(a.id, b.time, 2) as calls
	from asked as a left join below as b using (id)
	group by a.file, a.name, a.kind, a.process
)
select
	p.place as path,
	d.name as variable,
	d.kind as what,
	sum(d.n)::hugeint as n,
	sum(d.asked)::hugeint as asked,
	sum(d.moves)::hugeint as moves,
	sum(d.moved)::hugeint as moved,
	max(d.seconds) as seconds,
	flatten(max_by(d.calls, d.seconds, 2)) as calls,
	max(d.seconds) - max(d.n * s.latency) - sum(d.asked) / greatest(1, count(*) filter (d.moves > 0)) * max(s.per_byte) as lost
from process as d join places() as p using (file) join access_costs() as s on s.file = d.file and s.kind = d.kind
group by p.place, d.name, d.kind
having lost > 0
