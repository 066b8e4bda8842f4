-- Each function, apart by what it was called from: the program (in one of its regions or not), a layer, or `mpi`: its start and end
-- (kind comm). POSIX from MPI-IO is another row than POSIX from the program.
select
	layer,
	op,
	kind,
	case
		when {outermost} then 'program'
		when (enclosing_layer, enclosing) in (select (layer, op) from ops where kind = 'comm') then 'mpi'
		else enclosing_layer
	end as caller,
	sum(calls) as calls,
	sum(errors) as errors,
	sum(bytes) as bytes,
	sum(time) as time,
	min(shortest) as shortest,
	max(longest) as longest,
	count(distinct process) as processes
from counters
where layer not in ('fathom', 'user', 'mpi', 'threads')
group by layer, op, kind, caller
order by time desc, layer, op, caller
