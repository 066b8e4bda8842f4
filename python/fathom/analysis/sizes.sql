-- Reads and writes of each layer by size, from histograms: bins of powers of 4. MPI's start and end are none.
with accesses as (
	select layer, c.kind, unnest(size_histogram) as calls, generate_subscripts(size_histogram, 1) - 1 as bin
	from counters as c left join files as f using (file)
	where c.kind in ('read', 'write') and size_histogram is not null and layer not in ('fathom', 'user', 'threads', 'mpi') and {of_files}
		and (enclosing is null or (enclosing_layer, enclosing) not in (select (layer, op) from ops where kind = 'comm'))
)
select layer, kind as operation, if(bin = 0, 0, pow(4, bin - 1))::bigint as size_from, if(bin = 16, null, pow(4, bin))::bigint as size_below,
	sum(calls) as calls
from accesses
group by layer, kind, bin
having sum(calls) > 0
order by layer, operation, bin
