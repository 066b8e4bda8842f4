-- Pairs of `clashing` accesses of different processes to the same bytes, at least one a write; the one that began first is the first.
-- Columns: file, begins, ends (bytes of the overlap), did, did_then (`write` or `read`), first, second (`calls.id`), a, b (processes),
-- wrote (the first did), both_mpi, x_start, x_stop, y_start, y_stop (ns, of the first and the second).
select
	x.file, greatest(x.begins, y.begins) as begins, least(x.ends, y.ends) as ends,
	if(x.wrote, 'write', 'read') as did, if(y.wrote, 'write', 'read') as did_then,
	x.id as first, y.id as second, x.process as a, y.process as b, x.wrote, x.layer = 'mpiio' and y.layer = 'mpiio' as both_mpi,
	x.start as x_start, x.stop as x_stop, y.start as y_start, y.stop as y_stop
from {clashing} as x join {clashing} as y on x.file = y.file and x.process <> y.process and x.begins < y.ends and y.begins < x.ends
	and (x.wrote or y.wrote) and (x.start, x.id) < (y.start, y.id)
