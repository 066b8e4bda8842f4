-- Reads and writes of each layer by size: from histograms in bins of powers of 4, or, of a log of Darshan, in its own ranges.
-- MPI's start and end are none.
with accesses as (
	select layer, {direction} as kind, unnest(size_histogram) as calls, generate_subscripts(size_histogram, 1) - 1 as bin
	from counters as c left join files as f using (file)
	where {direction} is not null and size_histogram is not null and layer not in ('fathom', 'user', 'threads', 'mpi') and {of_files}
		and (enclosing is null or (enclosing_layer, enclosing) not in (select (layer, op) from ops where kind = 'comm'))
),
ranges as (
	select [0, 101, 1025, 10241, 102401, 1048577, 4194305, 10485761, 104857601, 1073741825] as least
),
each as (
	select layer, kind, if(bin = 0, 0, pow(4, bin - 1))::bigint as size_from, if(bin = 16, null, pow(4, bin))::bigint as size_below, calls
	from accesses
	where layer not in (select layer from tops where what = 'size_range')
	union all
	select t.layer, t.kind, value, least[list_position(least, value) + 1], calls
	from tops as t left join files as f using (file), ranges
	where what = 'size_range' and t.layer <> 'mpi' and {of_files}
)
select layer, kind as operation, size_from, size_below, sum(calls) as calls
from each
group by layer, kind, size_from, size_below
having sum(calls) > 0
order by layer, operation, size_from
