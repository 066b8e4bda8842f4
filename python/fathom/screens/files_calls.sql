-- Selected I/O calls on files, one by one. A part of files_*.sql.
made as (
	select
		process, file, layer, op, kind, 1 as calls, coalesce(bytes, 0) as bytes, duration as time, duration as longest,
		{outermost_call} as outermost
	from calls as c
	where file is not null and {selected} and {any_io}
)
