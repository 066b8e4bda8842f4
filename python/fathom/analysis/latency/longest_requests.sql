-- The requests that took the longest: $top; 0: all.
with recursive {units},
{requests},
{single}
select id, number, process, call, who, start, time
from (
	select *
	from (
		select id, number, process, call, who, start, time
		from single
		order by time desc, who, call, start, id
		{top}
	)
	union all
	select id, number, process, call, who, start, time
	from request
	where not single
)
order by time desc, who, call, start, id
{top}
