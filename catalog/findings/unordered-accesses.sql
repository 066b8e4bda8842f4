-- title:  Ranks touch the same bytes in no order
-- layer:  posix
-- limit:  one pair is enough. Both ran at once by more than the clocks' error, or with `--layers +mpi` no barrier lies between
--   them. Looked at are accesses where ranges of processes meet; of half a million and more, the first in the files
-- says:   {path}: a {did} by {one} and a {did_then} by {other} touch the same {size:size} at byte {begins:count}, {how}: no semantics order them
--   ({pairs:count} such pairs among those looked at)
-- lost:   a danger, no time
-- sure:   0.9
-- fix:    let each rank write its own bytes, or put a barrier between the two[mpiio: : MPI_File_sync, MPI_Barrier,
--   MPI_File_sync]
-- needs:  calls
-- when:   exists (select file from counters where kind in ('read', 'write') group by file having count(distinct process) > 1)
-- seen:   Wang, Mohror, Snir 2021, file system semantics requirements of HPC applications
select
	f.path,
	arg_min(did, (not at_once, first)) as did,
	arg_min(did_then, (not at_once, first)) as did_then,
	arg_min(if(p.rank is null, format('process {}', p.pid), format('rank {}', p.rank)), (not at_once, first)) as one,
	arg_min(if(q.rank is null, format('process {}', q.pid), format('rank {}', q.rank)), (not at_once, first)) as other,
	arg_min(ends - begins, (not at_once, first)) as size,
	arg_min(begins, (not at_once, first)) as begins,
	if(bool_or(at_once), 'both at the same time', 'with no barrier between them') as how,
	count(*) as pairs,
	if(bool_or(at_once), 0.95, 0.8) as sure,
	list_distinct(flatten([arg_min(first, (not at_once, first), 4), arg_min(second, (not at_once, first), 4)])) as calls,
	null::double as lost
from conflicts() as c join files as f using (file) join processes as p on p.process = c.a join processes as q on q.process = c.b
where level = 'none'
group by f.path
order by count(*) desc
limit 8
