-- Was every I/O call of $layer recorded, made by one main thread, and none inside another? Then they do not overlap, and their union is their sum.
select
	count(distinct process) = 1 and bool_and(thread_class = 'main') and bool_and(enclosing_layer is distinct from $layer)
		and sum(recorded) = sum(calls) as alone,
	sum(time) as busy
from counters
where layer = $layer and kind <> 'comm'
