-- I/O of each process: its outermost calls, from counters.
select process, sum(time) as "io time", sum(bytes) as bytes, sum(calls) as calls
from counters as c
where {outermost} and {any_io}
group by process
