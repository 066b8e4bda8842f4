-- Calls recorded in full, with path and source line; {which}: conditions on a row `c` of them.
select {columns}
from (
	select
		calls.*,
		files.path,
		case when sites.line is not null then sites.source || ':' || sites.line end as source_line
	from calls left join files using (file) left join sites using (site)
) as c
where {which}
order by {order}
