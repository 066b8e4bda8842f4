-- Each function, apart by the layer it was called from: POSIX from MPI-IO is another row than POSIX
-- from the program.
select
	layer,
	op,
	kind,
	coalesce(enclosing_layer, 'program') as caller,
	sum(calls)::bigint as calls,
	sum(errors)::bigint as errors,
	sum(bytes)::bigint as bytes,
	sum(time)::bigint as time,
	min(shortest) as shortest,
	max(longest) as longest,
	count(distinct process) as processes
from counters
where layer <> 'fathom'
group by layer, op, kind, caller
order by time desc, layer, op, caller
