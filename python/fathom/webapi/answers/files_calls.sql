-- Selected I/O calls on files, summed as counters sum them: what is asked of them looks at few rows then. A part of files_*.sql.
file_calls as (
	select
		process, file, layer, op, kind, {outermost_call} as outermost, count(*) as calls, sum(coalesce(bytes, 0)) as bytes, sum(duration) as time,
		max(duration) as longest
	from calls as c
	where file is not null and {selected} and {any_io}
	group by all
)
