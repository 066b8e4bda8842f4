-- Too many calls to sort, or not all of them recorded. A part of breakdown.sql.
covered as (
	select null::varchar as key, null::varchar as layer, null::bigint as time, null::bigint as summed where false
)
