-- Collective calls that stand at other places in some of their ranks: each rank's place, in the order in which collectives began.
with recursive {units},
{positions},
member as materialized (
	select collective, who, position from placed where collective is not null
)
select m.who, m.position, m.collective
from member as m join collectives as c using (collective)
where exists (from (select max(position) > min(position) as apart from member group by collective) where apart)
order by c.first_enter, m.collective, m.who
