-- Requests that are the only one of their outermost call: own calls themselves, and calls inside. A part, after requests.sql.
lone as not materialized (
	select id, process, call, o.{who}::bigint as who, start, duration as time, duration as took, kind, bytes, error, file
	from own_request as o
	where o.{who} is not null and (not $talk or o.file is null or o.file not in (from talk)) and {which} and not {traced} and {first_set}
	union all
	select id, process, call, who, start, duration, took, kind, bytes, error, file
	from held
	where alone and not {traced} and {first_set}
)
