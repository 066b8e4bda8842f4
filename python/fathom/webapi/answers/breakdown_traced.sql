-- Time at each server: of the calls on files that stand for one, and what traced servers did for calls. A part of breakdown.sql.
of_server as (
	select key, layer, server, time from of_files
	union all
	select {key} as key, c.layer, s.server, c.spent as time
	from (
		select *
		from (
			select c.process, c.layer, c.op, c.kind, c.file, c.start, c.duration, w.process as worker, w.duration as spent
			from links as l join calls as w on w.id = l.from_call join calls as c on c.id = l.to_call
			where l.kind = 'serves' and w.layer = 'server'
		) as c
		where {selected} and {any_io}
	) as c join server_process as s on s.process = c.worker
		left join lane on lane.process = c.process left join server_process on server_process.process = c.process
		left join server_file using (file)
)
