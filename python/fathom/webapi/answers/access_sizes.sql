-- Accesses of file {file} by bytes asked for, from counters: bins of powers of 4.
select
	layer, kind, if(bin = 0, 0, pow(4, bin - 1))::bigint as "from", if(bin = 16, null, pow(4, bin))::bigint as below, sum(calls) as calls
from (
	select layer, kind, unnest(size_histogram) as calls, generate_subscripts(size_histogram, 1) - 1 as bin
	from counters as c
	where file = {file} and {selected} and kind in ('read', 'write') and size_histogram is not null
)
where calls > 0
group by all
order by layer, kind, "from"
