-- Which layer called which: time of I/O calls made directly inside another layer's, MPI's start and end left out.
select enclosing_layer as caller, layer, sum(calls) as calls, sum(time) as time
from counters as c
where {any_io} and layer <> 'mpi' and enclosing_layer is distinct from layer
	and enclosing_layer not in ('user', 'threads', 'mpi')
	and (enclosing_layer, enclosing) not in (select (layer, op) from ops where kind = 'comm')
group by enclosing_layer, layer
order by time desc, caller, layer
