-- The requests that took the longest: $top; 0: all.
with recursive {units},
{servers},
{parts},
{inside},
{requests},
{single}
select id, number, process, call
from (
	select *
	from (
		select id, number, process, call, who, start, time
		from single
		order by time desc, who, call, start, id
		limit if($top = 0, 9000000000000000000, $top)
	)
	union all
	select id, number, process, call, who, start, time
	from request
	where not single
)
order by time desc, who, call, start, id
limit if($top = 0, 9000000000000000000, $top)
