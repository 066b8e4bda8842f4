-- Chance by number: the same for the same seed, rank, place and use.
create macro chance(rank, place, salt) as (hash(seed(), rank, place, salt) >> 11)::double / 9007199254740992.0;
-- Times in ns. Opens begin at 50 ms, bursts at 400 ms and every 2 s, closes after the last.
create macro slot() as 20000000;
create macro opened(file) as 50000000 + file::bigint * slot();
create macro burst_start(burst) as 400000000 + burst::bigint * 2000000000;
create macro closed(file) as burst_start(bursts()) + file * slot();
-- How long a transfer takes: spread about the typical by a factor of four, one in two thousand eight times as long.
create macro spread(rank, place) as
	exp(chance(rank, place, 1) + chance(rank, place, 2) + chance(rank, place, 3) - 1.5) * if(chance(rank, place, 4) < 0.0005, 8, 1);
create macro slowness(rank, file) as if(rank = straggler(), 2.5, 1) * if(file = 5, 3, 1);
create macro transfer(rank, file, place) as
	least(60000000, typical() * slowness(rank, file) * spread(rank, place))::bigint;

-- A tree is a call of HDF5, in it one of MPI-IO, in it three of POSIX. Each fourth reads what the one before wrote.
create macro tree_rows(first, last) as table
	with placed as (
		select
			rank::bigint as rank, burst::bigint as burst, i::bigint as i, burst * trees() + i as number,
			(burst * trees() + i) % 4 = 3 as reads,
			burst * trees() + i - if((burst * trees() + i) % 4 = 3, 1, 0) as place
		from range(first, last) as r(rank), range(bursts()) as b(burst), range(trees()) as t(i)
	),
	filed as (
		select *, ((rank + place) % files())::bigint as file, (place // files()) * ranks() + rank as block from placed
	)
	select
		*,
		transfer(rank, file, number * 3) as first_time,
		if(rank = writer() and burst = bursts() - 1 and i = slow_tree(), 900000000, transfer(rank, file, number * 3 + 1)) as second_time,
		transfer(rank, file, number * 3 + 2) as third_time,
		(5000 + 10000 * chance(rank, number, 5))::bigint as before,
		(20000 + 40000 * chance(rank, number, 6))::bigint as gap
	from filed;
create macro tree_time(before, a, b, c) as before + 8000 + a + 1000 + b + 1000 + c + 4000 + 6000;

-- When each rank is done with each burst; all leave the sync after it when the last has come.
create table burst_end as
	select
		rank, burst,
		burst_start(burst) + (5000000 * chance(rank, burst, 7))::bigint as begins,
		begins + sum(tree_time(before, first_time, second_time, third_time) + gap)::bigint as ends
	from tree_rows(0, ranks())
	group by rank, burst;
create table sync_end as
	select burst, max(ends)::bigint + 1000000 as leaves from burst_end where burst < bursts() - 1 group by burst;

create view rows_of_runs as
	select
		'planted' as name, 1700000000000000000 as started, duration() as duration, ranks() as processes, ranks() as streams,
		(ranks() + 63) // 64 as nodes, ranks() as ranks, ranks() as ranks_seen, events() as events, 0 as counted, 1 as coverage,
		ranks() as chunks, events() * 5 as stream_bytes, '0.1.0' as engine;
create view rows_of_processes as
	select
		n as process, hash(seed(), n) as instance, 1000 + n % 64 as pid, n // 64 as node, n // 64 as clock, '/opt/planted' as exe,
		['./planted'] as command, '/home/user' as cwd, n as rank, ranks() as ranks, 'MPICH' as mpi, 0 as start, duration() as stop,
		'clean' as ended, of_rank() as events, 1 as chunks, of_rank() * 5 as stream_bytes
	from range(ranks()) as r(n);
create view rows_of_streams as
	select
		process as stream, instance as id, process, pid as tid, false as side, events, chunks, true as complete,
		format('streams/{}.fts', process) as path
	from rows_of_processes;
create view rows_of_files as
	select
		n as file, 'lustre:store' as key, n + 1 as inode,
		format('/scratch/ost{}/', n) || if(hostile(), n || hostile_name(), format('field{}.h5', n)) as path, [path] as paths,
		'regular' as kind, 'lustre' as file_system, '/scratch' as mount
	from range(files()) as r(n);
create view rows_of_objects as
	select
		row_number() over (order by rank, f, c) - 1 as object, rank as process, f * 4 + c + 1 as number,
		['hdf5_file', 'hdf5_dataset', 'mpi_file', 'descriptor'][c + 1] as class, if(c = 1, 'field', path) as name, f as file,
		if(c = 2, ranks(), null) as communicator_size, if(c = 2, rank, null) as group_rank,
		if(c = 1, 8, null) as element_bytes, if(c = 1, [1048576], []) as extents
	from range(ranks()) as r(rank), range(files()) as g(f), range(4) as d(c), rows_of_files as n where n.file = f;
create view rows_of_sites as
	select
		n as site, '/opt/planted' as module, 4096 + n * 64 as address,
		['open_all', 'checkpoint', 'read_back', 'flush', 'close_all'][n + 1] as function, 'checkpoint.c' as source,
		[88, 214, 230, 241, 305][n + 1] as line
	from range(5) as r(n);
create view rows_of_ops as
	select layer, op, kind, [] as fields, false as tracked, op in ('MPI_File_open', 'MPI_File_close', 'MPI_File_sync') as collective
	from (select distinct layer, op, kind from counted);
create view rows_of_hints_in_force as
	select f * 4 + 2 as object, f as file, 'in force' as source, key, value, 0 as process
	from range(files()) as r(f), (values ('romio_cb_write', 'disable'), ('striping_factor', '1'), ('osts', f::varchar)) as h(key, value);
create view rows_of_samples as
	select
		node, (t * 1e8)::bigint as time, what, unit,
		case what when 'cpu.user' then t * 6e9::bigint when 'memory.available' then (2e11 - t * 1e7)::bigint
			else (2e7 * (t // 20 + least(t % 20, 4) / 4.0))::bigint end as value
	from rows_of_nodes, range((duration() // 1e8)::bigint) as r(t),
		(values ('cpu.user', 'ns'), ('memory.available', 'bytes'), ('net.tx_bytes', 'bytes')) as w(what, unit)
	order by node, time;
create view rows_of_tops as
	select
		process, 'main' as thread_class, file, layer, op, kind, enclosing_layer, enclosing, 'size' as what,
		(bytes // calls) as value, calls, 0 as bound
	from counted where kind in ('read', 'write');
create view rows_of_collectives as
	with happened as (
		select f * 2 as collective, 'open' as what, f as file, f as open_ordinal, 0 as ordinal, opened(f) as enter, opened(f) + slot() * 2 // 5 as leave
		from range(files()) as r(f)
		union all
		select 16 + burst * 2, 'sync', 0, 0, 1 + burst, min(ends), any_value(leaves)
		from burst_end join sync_end using (burst) group by burst
		union all
		select 16 + 2 * (bursts() - 1) + f * 2, 'close', f, f, bursts(), closed(f), closed(f) + slot() * 2 // 5 from range(files()) as r(f)
	)
	select
		collective + depth as collective, ['hdf5', 'mpiio'][depth + 1] as layer,
		['H5Fopen', 'MPI_File_open', 'H5Fflush', 'MPI_File_sync', 'H5Fclose', 'MPI_File_close'][list_position(['open', 'sync', 'close'], what) * 2 - 1 + depth] as op,
		file, hash(seed()) as group_hash, open_ordinal, ordinal, ranks() as ranks_expected, ranks() as ranks_seen, true as agreed,
		enter as first_enter, if(what = 'sync', leave - 1000000, enter + 2000000) as last_enter, leave as first_leave, leave + 100000 as last_leave
	from happened, range(2) as d(depth);
