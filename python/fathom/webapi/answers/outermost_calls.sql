-- The {limit} longest of the selected calls that no other I/O call holds.
select id, stream, start, duration
from (select * from calls as c where {selected} and {least} and {any_io})
where {outermost_call}
order by duration desc, id
limit {limit}
