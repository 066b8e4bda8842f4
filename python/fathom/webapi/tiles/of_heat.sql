-- Rows to be drawn of a run whose calls are only counted: its heat, that knows no single call. A part of other statements, after `with`.
{lane},
one as not materialized (
	select null::ubigint as id, lane, layer, operation as op, operation as kind, heat.start, heat.stop - heat.start as duration,
		heat.calls::bigint as calls, time, bytes
	from (from heat where {which}) as heat join lane using (process)
)
