-- How long at least one of a key's calls ran: the union of their times. A part of breakdown.sql.
covered as (
	select key, layer, sum(greatest(0, stop - greatest(start, coalesce(before, start)))) as time, sum(stop - start) as summed
	from (
		select *, max(stop) over (partition by key, layer order by start rows between unbounded preceding and 1 preceding) as before
		from (
			select {key} as key, c.layer, c.start, c.start + c.duration as stop
			from (select * from calls as c where {selected} and {any_io} and {reached}) as c
				{whose}
		)
	)
	group by key, layer
)
