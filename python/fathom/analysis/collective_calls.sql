-- MPI-IO's reads and writes by number, and how many of them are collective: of ops that stand for several functions, as of a log
-- of Darshan, by those.
with each as (
	select op, calls from counters
	where layer = 'mpiio' and kind in ('read', 'write') and op not in (select op from tops where layer = 'mpiio' and what = 'function')
	union all
	select label, calls from tops where layer = 'mpiio' and what = 'function'
)
select sum(calls) as calls, coalesce(sum(calls) filter (op in (select op from ops where layer = 'mpiio' and collective)), 0) as collective
from each
where exists (select 1 from tops where layer = 'mpiio' and what = 'function')
