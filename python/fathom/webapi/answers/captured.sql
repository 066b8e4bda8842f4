-- How many of the selected I/O calls were made, and how many are rows of `calls`.
select coalesce(sum(calls), 0) as calls, coalesce(sum(recorded), 0) as events
from counters as c
where {selected} and {any_io}
