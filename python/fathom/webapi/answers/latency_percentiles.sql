-- Of each op how long so many of its selected calls took at most, and its longest.
select
	layer, {op} as op, count(*) as calls, sum(duration) as time,
	quantile_disc(duration, 0.5) as median, quantile_disc(duration, 0.95) as "95 %", quantile_disc(duration, 0.99) as "99 %", max(duration) as longest
from calls as c
where {selected} and {any_io}
group by all
order by time desc, layer, op
