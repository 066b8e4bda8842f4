-- I/O time of each process less that of collective calls, in which all wait for the last: who is slow, and not who waits.
select
	process,
	(coalesce(sum(time) filter ({outermost}), 0)
		- coalesce(sum(time) filter (o.collective and not coalesce(e.collective, false)), 0)) as time
from counters as c
left join ops as o using (layer, op)
left join (select layer as enclosing_layer, op as enclosing, collective from ops) as e using (enclosing_layer, enclosing)
where {any_io}
group by process
