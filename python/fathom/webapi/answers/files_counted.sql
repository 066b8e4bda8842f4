-- Selected I/O calls on files, from counters. A part of files_*.sql.
file_calls as (
	select process, file, layer, op, kind, calls, bytes, time, longest, {outermost} as outermost
	from counters as c
	where file is not null and {selected} and {any_io}
)
