-- What each rank read or wrote through file views. `offsets`: first bytes in the file (null: not known), `sizes`: bytes; call by call.
with recursive {top}
select
	any_value(f.path) as path,
	top.file,
	layer,
	direction,
	who,
	selection,
	list(file_offset order by top.id) as offsets,
	list(coalesce(moved, 0) order by top.id) as sizes,
	count(*)::bigint as calls,
	count(*) filter (collective is not null)::bigint as collective,
	count(*) filter (top.kind = 'post')::bigint as posted,
	sum(coalesce(moved, 0)) as bytes,
	min(start)::bigint as first_start
from top join files as f on f.file = top.file
where layer = 'mpiio' and selection is not null and direction is not null and moved > 0
group by top.file, layer, direction, who, selection
order by top.file, layer, direction, who, selection
