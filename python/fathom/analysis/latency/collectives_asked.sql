-- The collectives that the units or calls inside them are of, the $top that lasted longest; 0: all.
with recursive {units},
{inside}
select collective, last_leave - first_enter as elapsed
from collectives
where collective in (select collective from one where collective is not null)
order by elapsed desc, collective
{top}
