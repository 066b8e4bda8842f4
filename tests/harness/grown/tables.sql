-- All tables but those that name single calls. Table `stretch` says of each rank and each stretch m how many repetitions have it (`repeated`), the
-- first and the last of them.
create macro file_of(number, shared, copy) as if(shared, number, number + copy * private_files());

create macro stretched(time) as (time - began()) * most();

create view rows_of_runs as
	select
		'grown' as name, 1700000000000000000 as started, duration() as duration, ranks() as processes, copies() * streams() as streams,
		(ranks() + 63) // 64 as nodes, ranks() as ranks, ranks() as ranks_seen, events() as events, 1.0 as coverage,
		copies() * streams() as chunks, events() * 5 as stream_bytes, 'grown' as engine;
create view rows_of_processes as
	select
		n as process, hash(n) as instance, 1000 + n % 64 as pid, n // 64 as node, n // 64 as clock, r.exe, r.command, r.cwd, n as rank,
		ranks() as ranks, r.mpi, 0 as start, duration() as stop, 'clean' as ended, p.calls * repetitions() as events, 1 as chunks,
		p.calls * repetitions() * 5 as stream_bytes
	from range(ranks()) as t(n) join new_process as p on p.number = n % template_ranks() join recorded.processes as r on r.process = p.process
	order by n;
create view rows_of_streams as
	select
		copy * streams() + s.number as stream, hash(stream) as id, copy * template_ranks() + p.number as process, 1000 + process % 64 as tid,
		false as side, s.calls * repetitions() as events, 1 as chunks, true as complete, format('streams/{}.fts', stream) as path
	from range(copies()) as t(copy), new_stream as s join new_process as p using (process)
	order by stream;
create view rows_of_files as
	select
		file_of(f.number, f.shared, copy) as file, r.key, file + 1 as inode, r.path || if(f.shared, '', '.' || copy) as path, [path] as paths,
		r.kind, r.file_system, r.mount, r.runtime
	from range(copies()) as t(copy), new_file as f join recorded.files as r using (file)
	where not f.shared or copy = 0
	order by file;
create view rows_of_objects as
	select
		o.* exclude (number, object, process, file, parent, created_by, communicator_size, group_rank, group_members),
		copy * objects() + o.number as object, copy * template_ranks() + p.number as process,
		file_of(f.number, f.shared, copy) as file, copy * objects() + a.number as parent,
		((copy * streams() + c.stream)::ubigint << 40) + c.seq::ubigint as created_by,
		if(o.communicator_size = template_ranks(), ranks(), o.communicator_size) as communicator_size,
		copy * template_ranks() + o.group_rank as group_rank, []::uinteger[] as group_members
	from range(copies()) as t(copy), new_object as o join new_process as p using (process)
		left join new_file as f using (file) left join new_object as a on a.object = o.parent left join new_call as c on c.id = o.created_by
	order by object;
create view rows_of_selections as
	select
		s.* exclude (number, file) replace (
			copy * selections() + s.number as selection, copy * template_ranks() + p.number as process,
			s.displacement + if(s.form = 'bytes' and f.shared, copy * f.extent, 0) as displacement
		)
	from range(copies()) as t(copy), new_selection as s join new_process as p using (process) left join new_file as f using (file)
	order by copy * selections() + s.number;
create view rows_of_collectives as
	select
		c.* exclude (number, bytes) replace (
			k * collectives() + c.number as collective, f.number as file, ranks() as ranks_expected, ranks() as ranks_seen,
			k * period() + stretched(c.first_enter) as first_enter, k * period() + stretched(c.last_enter) as last_enter,
			k * period() + stretched(c.first_leave) as first_leave, k * period() + stretched(c.last_leave) as last_leave
		), c.bytes * copies() as bytes
	from range(repetitions()) as t(k), new_collective as c left join new_file as f using (file)
	order by 1;
create view rows_of_sites as from recorded.sites;
create view rows_of_ops as from recorded.ops;
create view rows_of_hints_in_force as
	select h.* replace (0 as process, o.number as object, f.number as file)
	from recorded.hints_in_force as h join new_process as p using (process) left join new_object as o using (object) join new_file as f on f.file = h.file
	where p.number = 0;
create view rows_of_tops as
	select
		copy * template_ranks() + b.process as process, 'main' as thread_class, file_of(b.file, shared, copy) as file, layer, op, kind,
		enclosing_layer, enclosing, runtime, 'size' as what, size as value, n * repetitions() as calls, 0 as bound
	from range(copies()) as t(copy), (
		select process, file, shared, layer, op, kind, enclosing_layer, enclosing, runtime, size, count(*) as n
		from base where kind in ('read', 'write') and size is not null group by all
	) as b;
create view rows_of_links as
	with placed as (
		select
			l.kind, l.bytes, l.confidence, copy * streams() + l.from_stream as from_stream, k * f.calls + l.from_seq as from_seq,
			copy * streams() + l.to_own_stream as to_stream, k * t.calls + l.to_own_seq as to_seq
		from range(copies()) as c(copy), range(repetitions()) as r(k), base_links as l
			join new_stream as f on f.number = l.from_stream join new_stream as t on t.number = l.to_own_stream
	)
	select *, (from_stream::ubigint << 40) + from_seq::ubigint as from_call, (to_stream::ubigint << 40) + to_seq::ubigint as to_call
	from placed;
