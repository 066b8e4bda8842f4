-- What `counters` holds of the rows of `generated_calls`, added to table `counted`.
insert into counted
with followed as (
	select
		*,
		lag(file_offset + bytes) over one as before_end,
		lag(kind) over (partition by process, layer, file order by start) as before_kind,
		if(coalesce(size, bytes, 0) = 0, 0, least(16, 1 + floor(log2(coalesce(size, bytes)) / 2)))::integer as bin
	from generated_calls
	window one as (partition by process, layer, op, file, enclosing order by start)
)
select * replace (list_transform(range(17), lambda bin: coalesce(sizes[bin::integer], 0)) as sizes)
from (
	select
		process, file, layer, op, kind, enclosing_layer, enclosing, count(*), coalesce(sum(bytes), 0), sum(duration),
		min(duration), max(duration), min(start), max(start + duration), count(*) filter (file_offset = before_end),
		count(*) filter (file_offset >= before_end), count(*) filter (kind <> before_kind and before_kind in ('read', 'write')),
		histogram(bin) as sizes
	from followed
	group by process, file, layer, op, kind, enclosing_layer, enclosing
);
