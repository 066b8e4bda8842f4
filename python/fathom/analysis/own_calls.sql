-- Rows of `calls` that are the program's own I/O: outermost, or inside nothing but its regions (layer user) and waits for threads. Of
-- those inside, `region` is the innermost's name, `regions` are all, outermost first, and `site` is where the outermost one began. $regions:
-- there are any; $talk: there are sockets and pipes, which are left out. Where there are none, looking for them costs nothing. A part of
-- other statements, after `with recursive`.
talk as (
	select file from files as f where $talk and not ({of_files})
),
region as (
	select id, op as region, [op] as regions, site from calls where $regions and layer in ('user', 'threads') and parent is null
	union all
	select c.id, c.op, list_append(region.regions, c.op), region.site
	from region join calls as c on c.parent = region.id
	where c.layer in ('user', 'threads')
),
own as not materialized (
	select id, process, stream, rank, call, layer, op, kind, file, start, duration, nested, size, bytes, error, site, collective,
		true as outermost, null::varchar as region, null::varchar[] as regions
	from calls as c
	where depth = 0 and (not $talk or file is null or file not in (from talk)) and {own_layer}
	union all
	select c.id, c.process, c.stream, c.rank, c.call, c.layer, c.op, c.kind, c.file, c.start, c.duration, c.nested, c.size, c.bytes, c.error,
		region.site, c.collective, false, region.region, region.regions
	from calls as c join region on c.parent = region.id
	where $regions and (not $talk or c.file is null or c.file not in (from talk)) and {own_layer}
)
