-- title:  Independent calls of ranks whose pieces lie between one another's
-- layer:  mpiio
-- limit:  independent calls of several ranks on one file whose stretches overlap while their pieces do not. Each rank makes as
--   many calls, so a collective call is possible
-- says:   {path}: {n:count} independent {what}s by {ranks} ranks ask for {asked:size} in pieces between one another's; {moves:count} system
--   calls moved {moved:size}; the slowest rank took {seconds:seconds}
-- lost:   accesses and locks below the slowest rank's calls, less the same bytes sent to {aggregators} aggregators and moved in
--   pieces of 16 MiB. The exchange is taken at this run's own rate, else at two copies of 1 GB/s
-- needs:  calls, ranks
-- sure:   0.7
-- fix:    a collective call of all ranks: [mpiio: MPI_File_{what}_all][hdf5: H5Pset_dxpl_mpio collective][netcdf: nc_var_par_access
--   NC_COLLECTIVE][pnetcdf: the _all calls]
-- causes: requests, contention, locks, needless, library, transfer, unexplained
-- seen:   Thakur, Gropp, Lusk 1999; Darshan and Drishti, "no collective I/O"
with rank as (
	select
		file, kind, process, count(*) as n, sum(size)::hugeint as asked, sum(moves)::hugeint as moves, sum(moved + other_moved)::hugeint as moved,
		sum(duration) / 1e9 as seconds, sum(io + locking) / 1e9 as below, min(lowest) as lowest, max(highest) as highest, max_by(id, duration, 2) as calls
	from transfers()
	where collective is null and size > 0 and span > size and moves > 0
	group by file, kind, process
),
file as (
	select
		file, kind, count(*) as ranks, sum(n)::hugeint as n, max(n) as most, sum(asked)::hugeint as asked, sum(moves)::hugeint as moves,
		sum(moved)::hugeint as moved, max(seconds) as seconds, max(below) as below, sum(highest - lowest) > 1.5 * (max(highest) - min(lowest)) as overlap,
		flatten(max_by(calls, seconds, 4)) as calls
	from rank
	group by file, kind
	having count(*) > 1 and max(n) <= 1.1 * min(n)
),
nodes as (
	select greatest(1, nodes) as nodes from runs
),
exchanged as (
	select sum(greatest(0, wall - io)) / nullif(sum(asked), 0) / 1e9 as per_byte from collective_transfers() where two_phase
)
select
	p.place as path,
	f.kind as what,
	sum(f.n)::hugeint as n,
	max(f.ranks) as ranks,
	sum(f.asked)::hugeint as asked,
	sum(f.moves)::hugeint as moves,
	sum(f.moved)::hugeint as moved,
	sum(f.seconds) as seconds,
	max(f.aggregators) as aggregators,
	flatten(max_by(f.calls, f.seconds, 2)) as calls,
	sum(
		f.below - greatest(f.most, ceil(f.asked / f.aggregators / 16777216)) * s.latency - f.asked / f.aggregators * s.per_byte
		- f.asked * coalesce(e.per_byte, 2e-9)
	) as lost
from (
	select file.*, least(ranks, coalesce(cb_nodes, nodes)) as aggregators from file left join aggregators_in_force() using (file), nodes
) as f join places() as p using (file) join access_costs() as s using (file, kind), exchanged as e
-- Where ranks share processors an exchange takes turns of the scheduler.
where f.overlap and not exists (from account_crowded())
group by p.place, f.kind
having lost > 0
