-- Of each lane, layer and bin, {width} of them from {first} to {last}: for how long its calls ran there, summed, which op took most, the longest that touches it.
with {lane},
placed as (
	select lane, layer, op, id, duration, greatest(c.start, {first}) - {first} as begin, least(c.start + duration, {last}) - {first} as finish
	from (from calls where {which}) as c join lane using (process)
	where c.start < {last}
),
piece as (
	select *, unnest(range(begin * {width} // {span}, greatest(begin, finish - 1) * {width} // {span} + 1)) as bin from placed
),
each as (
	select lane, layer, bin, op, max(duration) as longest, arg_max(id, duration) as call,
		sum(greatest(0, least(finish, ((bin + 1) * {span} + {width} - 1) // {width}) - greatest(begin, (bin * {span} + {width} - 1) // {width}))) as busy
	from piece
	group by lane, layer, bin, op
)
select lane, layer, bin, arg_max(op, busy) as op, sum(busy) as busy, arg_max(call, longest) as call, max(longest) as longest
from each
group by lane, layer, bin
order by lane, layer, bin
