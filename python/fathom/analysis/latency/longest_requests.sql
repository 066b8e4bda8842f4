-- The requests that took the longest: $top; 0: all.
with recursive {units},
{servers},
{parts},
{inside},
{requests}
select id, number, process, call
from request
order by time desc, who, call, start, id
limit if($top = 0, 9000000000000000000, $top)
