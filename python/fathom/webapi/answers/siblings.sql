-- Calls like call {id} beside it: how many, the usual one, the next slower one, those before and after it, the slowest.
with sibling as materialized (
	select id, start, duration from {calls} where stream = {stream} and {which}
)
select
	count(*) as count,
	arg_min(id, (abs(duration - (select quantile_disc(duration, 0.5) from sibling)), start)) as median,
	arg_min(id, (duration, start)) filter (duration > {duration}) as slower,
	arg_min(id, (start, id)) filter ((start, id) > ({start}, {id}::ubigint)) as next,
	arg_max(id, (start, id)) filter ((start, id) < ({start}, {id}::ubigint)) as previous,
	arg_max(id, duration) as slowest
from sibling
