-- Of layers how long their {limit} longest calls are at least: so many counters, all of whose calls are recorded one by one, hold one that is.
select layer, longest as least
from counters
where recorded = calls
qualify row_number() over (partition by layer order by longest desc) = {limit}
