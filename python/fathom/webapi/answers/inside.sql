-- Exclusive time by layer of a call and all inside it.
with recursive near as (
	select id, parent, layer, duration - nested as exclusive
	from {calls}
	where stream = {stream} and start between {start} and {stop}
),
tree as (
	select id, layer, exclusive from near where id = {call}
	union all
	select near.id, near.layer, near.exclusive from tree join near on near.parent = tree.id
)
select layer, sum(exclusive) as exclusive from tree group by layer
