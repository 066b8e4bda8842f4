-- The same as lone.sql of all own calls, in one look: own calls on sockets and pipes have no server, so those are only looked for around a call.
lone as not materialized (
	select id, process, call, {who}::bigint as who, start, duration as time, coalesce(own_duration, duration) as took, kind, bytes, error, file
	from calls
	where alone and (depth = 0 or not $regions) and {who} is not null and not {traced} and {first_set}
		and (not $talk or own is null or own not in (select id from calls where file in (from talk)))
)
