-- Requests that are the only one of their outermost call, straight from the calls: a scan, of which the longest are found without a look at the
-- others. `lone`: before it is asked whose server the file's is.
lone as not materialized (
	select id, process, call, o.{who}::bigint as who, start, duration as time, duration as took, kind, bytes, error, file
	from own_request as o
	where o.{who} is not null and (not $talk or o.file is null or o.file not in (from talk)) and {which} and not $traced and {first_set}
	union all
	select id, process, call, who, start, duration, took, kind, bytes, error, file
	from held
	where alone and not $traced and {first_set}
),
single as not materialized (
	select o.*, f.number from lone as o join numbered_file as f using (file) where {servers_set}
)
