-- How long the {limit} longest of the selected calls are at least: so many counters, all of whose calls are recorded one by one, hold one that is.
select min(longest) as least
from (select longest from counters as c where {selected} and {any_io} and {which} and recorded = calls order by longest desc limit {limit})
having count(*) = {limit}
