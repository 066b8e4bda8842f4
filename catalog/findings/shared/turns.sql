-- What makes writes seen, and what makes a process look again: opens, closes and syncs of files with `clashing` accesses. A process that
-- ends closes its files.
-- Columns: process, file, start, stop (ns); of those that start then or later the soonest end: committed (a sync or close), closed,
-- let_go (MPI-IO's sync or close); of those that ended by then the last start: opened, looked (MPI-IO's open or sync).
with turn as (
	select
		process, file, start, start + duration as stop, kind,
		kind = 'close' or kind = 'sync' and op <> 'fflush' as commits,
		layer = 'mpiio' and kind in ('close', 'sync') as lets_go,
		layer = 'mpiio' and kind in ('open', 'sync') as looks
	from calls semi join {clashing} using (process, file)
	where kind in ('open', 'close', 'sync') and error = 0
	union all
	select process, s.file, p.stop, p.stop, 'close', true, false, false
	from (select distinct process, file from {clashing}) as s join processes as p using (process)
	where p.ended <> 'open'
)
select
	process, file, start, stop,
	min(stop) filter (commits) over later as committed, min(stop) filter (kind = 'close') over later as closed, min(stop) filter (lets_go) over later as let_go,
	max(start) filter (kind = 'open') over earlier as opened, max(start) filter (looks) over earlier as looked
from turn
window later as (partition by process, file order by start desc), earlier as (partition by process, file order by stop)
