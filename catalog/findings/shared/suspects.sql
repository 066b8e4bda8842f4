-- Accesses that overlap any other, their own process's too, in the cells in which processes meet: sorted by where they begin, one of the
-- earlier ends behind that, or the next begins before its end.
-- Columns: those of `to_bytes`.
with placed as (
	select a.*, (a.begins - c.begins) // c.width as cell from ({to_bytes}) as a join {contended} as c using (file)
),
near as (
	select placed.* exclude (cell) from placed join {meeting_cells} as m using (file, process, cell) where every = 1 or hash(id) % every = 0
)
select * from near
qualify ends > lead(begins) over (partition by file order by begins, id)
	or begins < max(ends) over (partition by file order by begins, id rows between unbounded preceding and 1 preceding)
