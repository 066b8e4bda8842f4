-- I/O of each process: its selected calls, from those recorded in full.
select process, sum(duration) as "io time", sum(bytes) as bytes, count(*) as calls
from calls as c
where {selected} and {chosen} and {any_io}
group by process
