-- What all made runs have: nodes of 64 ranks with a clock each, and the sums of their calls.
create table counted (
	process uinteger, file uinteger, layer varchar, op varchar, kind varchar, enclosing_layer varchar, enclosing varchar,
	calls bigint, bytes bigint, time bigint, shortest bigint, longest bigint, first_start bigint, last_stop bigint,
	consecutive bigint, sequential bigint, switches bigint, sizes bigint[]
);
create table heated (process uinteger, layer varchar, operation varchar, bin bigint, calls bigint, bytes bigint, time double);
-- As docs/tables.md says: at most 200 bins of 0.1 s times a power of two.
create macro bin_time() as (100000000 * 2 ** greatest(0, ceil(log2(duration() / 2e10))))::bigint;

create view rows_of_nodes as
	select n as node, format('node{:03d}', n) as host, format('boot{}', n) as boot_id, 'Linux 6.1' as kernel
	from range((ranks() + 63) // 64) as r(n);
create view rows_of_clocks as
	select node as clock, node, 'tsc' as kind, 2.5e9 as ticks_per_second, 0 as error, 5 as error_local, 'reference' as method
	from rows_of_nodes;
create view rows_of_counters as
	with data as (
		select *, kind in ('read', 'write') as moves from counted
	)
	select
		* exclude (moves, consecutive, sequential, switches, sizes), 'main' as thread_class, calls as recorded, 0 as errors,
		if(moves, consecutive, null) as consecutive, if(moves, sequential, null) as sequential, if(moves, 0, null) as strided,
		if(moves, 0, null) as unaligned_file, if(moves, calls, null) as contiguous, if(moves, 0, null) as holes_memory,
		if(moves, 0, null) as holes_file, if(moves, 0, null) as holes_both, if(moves, switches, null) as switches,
		if(moves, sizes, null) as size_histogram, if(moves, sizes, null) as extent_histogram
	from data;
create view rows_of_heat as
	select
		process, layer, operation, bin * bin_time() as start, (bin + 1) * bin_time() as stop, sum(calls) as calls,
		sum(bytes) as bytes, round(sum(time)) as time
	from heated group by process, layer, operation, bin;
