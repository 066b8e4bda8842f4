-- Each selected call of each lane.
with {lane}
select lane, depth, id as call, layer, op, c.start, duration
from (from calls where {which}) as c join lane using (process)
order by lane, depth, c.start, call
