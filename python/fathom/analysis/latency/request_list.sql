-- Requests, each by process, call, sub-call and server, in that order.
with recursive {picked},
{numbered},
longest as (
	select unnest($ids::ubigint[]) as id, unnest($numbers::integer[]) as number
)
select who, call, subcall, number, op, id, start, time, after, bytes, accesses
from mine semi join longest using (id, number)
order by who, process, call, subcall, number
