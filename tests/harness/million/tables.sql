-- What each rank does: an open of 1 s, the writes one after the other, a close of 1 s.
create macro file_of(rank) as if(traced(), 0, rank);
create macro op_time() as (duration() - 2000000000) // writes();
create view step as
	select
		n as seq, if(n = 0, 'open', if(n = writes() + 1, 'close', 'pwrite')) as op,
		if(n = 0, 'open', if(n = writes() + 1, 'close', 'write')) as kind,
		if(n = 0, 0, 1000000000 + (n - 1) * op_time()) as start,
		if(n in (0, writes() + 1), 1000000000, op_time()) as duration,
		if(n in (0, writes() + 1), null, bytes() // writes()) as bytes
	from range(writes() + 2) as r(n);
create view counted_step as
	select
		op, kind, count(*) as calls, coalesce(sum(bytes), 0)::bigint as bytes, sum(duration)::bigint as time,
		min(duration) as shortest, max(duration) as longest, min(start) as first_start, max(start + duration) as last_stop
	from step group by op, kind;

create view rows_of_runs as
	select
		'many' as name, 1700000000000000000 as started, duration() as duration, ranks() as processes, ranks() as streams,
		(ranks() + 63) // 64 as nodes, ranks() as ranks, ranks() as ranks_seen, events() as events,
		(writes() + 2) * ranks() - events() as counted, if(traced(), 1, 0) as coverage, ranks() as chunks,
		ranks() * 64 as stream_bytes, '0.1.0' as engine;
create view rows_of_processes as
	select
		n as process, hash(n) as instance, 1000 + n % 64 as pid, n // 64 as node, n // 64 as clock, '/opt/many' as exe,
		['./many'] as command, '/home/user' as cwd, n as rank, ranks() as ranks, 'MPICH' as mpi, 0 as start, duration() as stop,
		'clean' as ended, events() // ranks() as events, writes() + 2 - events() // ranks() as counted, 1 as chunks, 64 as stream_bytes
	from range(ranks()) as r(n);
create view rows_of_streams as
	select
		process as stream, instance as id, process, pid as tid, events, chunks, true as complete,
		format('streams/{}.fts', process) as path
	from rows_of_processes;
create view rows_of_files as
	select
		n as file, 'lustre:store' as key, n + 1 as inode, format('/scratch/out/field.{:07d}', n) as path, [path] as paths,
		'regular' as kind, 'lustre' as file_system, '/scratch' as mount
	from range(if(traced(), 1, ranks())) as r(n);
create or replace view rows_of_counters as
	select
		rank as process, 'main' as thread_class, file_of(rank) as file, 'posix' as layer, step.*,
		if(traced(), calls, 0) as recorded
	from range(ranks()) as r(rank), counted_step as step
	order by process, op;
create view rows_of_calls as
	select
		(rank::ubigint << 40) + seq::ubigint as id, rank as stream, rank as process, 1000 + rank % 64 as thread, rank, seq as call,
		'posix' as layer, op, kind, file_of(rank) as file, start, duration, bytes as size,
		if(kind = 'write', (rank * writes() + seq - 1) * bytes, null) as file_offset, if(kind = 'write', 'given', null) as offset_from,
		bytes, if(kind = 'write', null, 0) as result, 'done' as state, 0 as site, true as topmost,
	from range(if(traced(), ranks(), 0)) as r(rank), step
	order by rank, seq;
create view rows_of_ops as
	select 'posix' as layer, op, kind, [] as fields from counted_step;
create view rows_of_sites as
	select 0 as site, '/opt/many' as module, 4096 as address, 'checkpoint' as function, 'many.c' as source, 88 as line where traced();
