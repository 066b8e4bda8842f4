-- Settings of files that both runs have (tables `first`, `second`: rows of difference_hints.sql and difference_places.sql), alike
-- differences together.
with paths as (
	select path from first intersect select path from second
),
joined as (
	select source, class, setting, path, name, a.value as a, b.value as b
	from first as a full join second as b using (source, class, setting, path, name)
	where path in (from paths) and a.value is distinct from b.value
		-- Of runs that were counted at level job it is not told which files were used.
		and (source <> 'file system' or a.value is not null and b.value is not null)
),
grouped as (
	select source, class, setting, a, b, count(*) as places, min({'path': path, 'name': name}) as example
	from joined group by source, class, setting, a, b
)
select source as what, class as of, setting, a, b, places, example.path || if(example.name = '', '', ': ' || example.name) as example
from grouped
order by source, class, setting, grouped.example
