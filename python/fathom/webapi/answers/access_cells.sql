-- Where in file {file} the selected reads and writes went: {across} across, offset up. A call's bytes are spread over the {height} bins of
-- {step} bytes from {low} on that it touches; it counts in that in which it begins.
with {lane},
{access_rows},
-- What begins and ends inside a bin, and, as steps up and down, the bins that are touched from end to end.
pieces as (
	select x, kind, first as y, count(*) as calls, sum(least(z, {low} + (first + 1) * {step}) - a) as bytes, 0 as up from placed group by all
	union all
	select x, kind, last, 0, sum(z - ({low} + last * {step})), 0 from placed where last > first group by all
	union all
	select x, kind, first + 1, 0, 0, count(*) from placed where last > first group by all
	union all
	select x, kind, last, 0, 0, -count(*) from placed where last > first group by all
),
level as (
	select x, kind, y, sum(calls) as calls, sum(bytes) as bytes, sum(sum(up)) over (partition by x, kind order by y) as height,
		lead(y) over (partition by x, kind order by y) as next
	from pieces
	group by x, kind, y
)
select x::integer as x, y::integer as y, kind, sum(calls) as calls, sum(bytes) as bytes
from (
	select x, y, kind, calls, bytes + height * {step} as bytes from level
	union all
	select x, unnest(range(y + 1, next)) as y, kind, 0, height * {step} from level where height > 0 and next > y + 1
)
where bytes > 0 or calls > 0
group by x, y, kind
order by x, y, kind
