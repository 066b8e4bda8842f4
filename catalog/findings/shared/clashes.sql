-- Stretches of files that two processes touch and at least one writes: by a sweep over each process's merged extents, +1 where
-- a process begins to touch, -1 where it ends. Of a file the 64 that most processes touch.
-- Columns: file, begins, ends.
with extent as (
	select file, process, false as written, begins, ends from {suspects}
	union all
	select file, process, true, begins, ends from {suspects} where wrote
),
marked as (
	select *, coalesce(begins > max(ends) over before, true) as fresh
	from extent
	window before as (partition by file, process, written order by begins rows between unbounded preceding and 1 preceding)
),
numbered as (
	select *, sum(fresh::int) over (partition by file, process, written order by begins) as island from marked
),
merged as (
	select file, written, min(begins) as begins, max(ends) as ends from numbered group by file, process, written, island
),
step as (
	select file, begins as place, (not written)::int as touching, written::int as writing from merged
	union all
	select file, ends, -(not written)::int, -written::int from merged
),
level as (
	select file, place, sum(touching) as touching, sum(writing) as writing from step group by file, place
),
segment as (
	select
		file, place as begins, lead(place) over along as ends, sum(touching) over along as touching, sum(writing) over along as writing
	from level
	window along as (partition by file order by place)
),
clash as (
	select *, coalesce(begins > lag(ends) over (partition by file order by begins), true) as fresh
	from segment
	where touching >= 2 and writing >= 1
),
stretch as (
	select file, min(begins) as begins, max(ends) as ends, max(touching) as touching
	from (select *, sum(fresh::int) over (partition by file order by begins rows unbounded preceding) as number from clash)
	group by file, number
)
select file, begins, ends from stretch qualify row_number() over (partition by file order by touching desc, begins) <= 64
