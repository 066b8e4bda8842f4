-- I/O of each process: its outermost calls, from counters.
select process, sum(time) as "io time", sum(bytes) as bytes, sum(calls) as calls
from counters as c
where (enclosing_layer is null or enclosing_layer in ('user', 'threads')) and {any_io}
group by process
