-- The {limit} longest of the selected calls that no other I/O call holds.
select id, stream, start, duration
from (select * from calls as c where {selected} and {any_io})
where depth = 0 or parent in (select id from calls where layer in ('user', 'threads'))
order by duration desc, id
limit {limit}
