-- Processes of each row of a level's picture, of {lanes} lanes, and their events: cells are whole where rows are.
with {lane}
select list(process order by process) as processes, sum(events)::bigint as events
from lane join processes using (process)
group by lane // {lanes}
order by min(process)
