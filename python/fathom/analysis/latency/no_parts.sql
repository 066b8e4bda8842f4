-- `part` and `sent` (parts.sql) of a run without traced servers: empty, and planned in no time.
part as (
	select null::ubigint as client, null::varchar as server, false as relayed, 0 as requests, 0 as accesses, 0 as bytes, 0 as time, 0 as after,
		0 as disk, 0 as disk_calls
	limit 0
),
sent as (
	select null::ubigint as client, 0 as requests, 0 as time, 0 as disk, 0 as after, 0 as disk_calls limit 0
)
