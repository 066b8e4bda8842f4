-- Trees of some ranks with the times at which they begin.
create or replace temp table tree as
	select
		*, tree_time(before, first_time, second_time, third_time) as time,
		begins + sum(time + gap) over (partition by rank, burst order by i)::bigint - time - gap as start
	from tree_rows($first, $last) join burst_end using (rank, burst);

-- Opens, syncs and closes: a call of HDF5, in it one of MPI-IO that all leave together, in it one of POSIX.
create or replace temp table frame as
	select
		rank, 'open' as what, f as file, f * 3 as seq, f as number, 0 as site, f * 2 as collective,
		opened(f) + (2000000 * chance(rank, f, 8))::bigint as enter, opened(f) + slot() * 2 // 5 as leave
	from range($first, $last) as r(rank), range(files()) as g(f)
	union all
	select
		rank, 'sync', 0, files() * 3 + burst * (trees() * 5 + 3) + trees() * 5, files() + burst * (trees() + 1) + trees(), 3, 16 + burst * 2,
		ends, leaves
	from burst_end join sync_end using (burst) where rank between $first and $last - 1
	union all
	select
		rank, 'close', f, files() * 3 + bursts() * trees() * 5 + (bursts() - 1) * 3 + f * 3, files() + bursts() * (trees() + 1) - 1 + f, 4,
		16 + 2 * (bursts() - 1) + f * 2, closed(f) + (2000000 * chance(rank, f, 9))::bigint, closed(f) + slot() * 2 // 5
	from range($first, $last) as r(rank), range(files()) as g(f);
