-- Rows to be drawn: calls for which a condition holds. A part of other statements, after `with`.
{lane},
one as not materialized (
	select c.id, lane, c.layer, c.op, c.kind, c.start, c.duration, 1 as calls, c.duration as time, coalesce(c.bytes, 0) as bytes
	from (from calls where {which}) as c join lane using (process)
)
