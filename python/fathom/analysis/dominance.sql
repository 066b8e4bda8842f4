-- To whom an amount belongs, as dominance.py says it. The amounts are rows of `unit` and `amount`; everyone else has nothing. `how`: none, one,
-- some, all; `units`: the fewest that hold nine tenths, and those that have half as much as the least of these; `share`: that they hold;
-- `callers`: how many are among the amounts.
with amounts as materialized (
	{amounts}
),
each as (
	select unit, coalesce(sum(amount), 0) as amount
	from (select unit, amount from amounts union all select unit, 0 from ({everyone}))
	group by unit
),
held as (
	select unit, amount, sum(amount) over () as total, sum(amount) over (order by amount desc, unit rows unbounded preceding) - amount as before
	from each
),
needed as (
	select *, min(amount) filter (before < {hold} * total) over () as least from held
)
select
	case
		when coalesce(any_value(total), 0) <= 0 then 'none'
		when count(*) filter (before < {hold} * total or amount >= {like} * least) = 1 then 'one'
		when bool_and(before < {hold} * total or amount >= {like} * least) then 'all'
		else 'some'
	end as how,
	coalesce(list(unit order by unit) filter (total > 0 and (before < {hold} * total or amount >= {like} * least)), []) as units,
	count(*) as everyone,
	coalesce(sum(amount) filter (before < {hold} * total or amount >= {like} * least) / nullif(any_value(total), 0), 0)::double as share,
	(select count(distinct unit) from amounts) as callers
from needed
