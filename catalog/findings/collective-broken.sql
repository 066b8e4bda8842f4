-- title:  Collective transfers that HDF5 makes independently
-- layer:  hdf5
-- limit:  HDF5 itself says that it made a collective H5Dread or H5Dwrite independent, and why
-- says:   {path}{dataset}: {n:count} collective {what}s of {asked:size} in all became independent ones because of {why}; {moves:count}
--   accesses; the slowest rank took {seconds:seconds}
-- lost:   the slowest rank's calls, less the same bytes moved by {aggregators} aggregators in pieces of 16 MiB at the store's
--   cost
-- sure:   0.8
-- fix:    {fix}
-- causes: requests, contention, library, locks, transfer, unexplained
-- seen:   HighFive#623; h5py#1159; H5Pget_mpio_no_collective_cause
with asked as (
	select call as id, value & 65535 as cause from args where name = 'no_collective' and value & 65535 > 0 and value > 0
),
moved as (
	select call as id, sum(moves)::hugeint as moves from driver_transfers() where raw group by call
),
rank as (
	select
		c.object, o.name, c.file, c.kind, c.process, a.cause, count(*) as n, sum(c.size) as asked, coalesce(sum(m.moves), 0) as moves,
		sum(c.duration) / 1e9 as seconds, max_by(c.id, c.duration, 2) as calls
	from calls as c join asked as a using (id) left join moved as m using (id) left join objects as o using (object)
	where c.error = 0
	group by all
),
file as (
	select
		file, name, kind, cause, sum(n)::hugeint as n, max(n) as most, sum(asked)::hugeint as asked, sum(moves)::hugeint as moves,
		max(seconds) as seconds, flatten(max_by(calls, seconds, 2)) as calls
	from rank
	group by file, name, kind, cause
),
-- H5D_mpio_no_collective_cause_t
word as (
	select * from (values
		(2, 'a conversion of the type', 'the type in memory must be that of the file'),
		(4, 'a data transform', 'transform in memory, without H5Pset_data_transform'),
		(8, 'the MPI type optimisation being switched off', 'do not set HDF5_MPI_OPT_TYPES=0'),
		(16, 'a selection that is neither a hyperslab nor points', 'select hyperslabs'),
		(32, 'a layout that is neither contiguous nor chunked', 'make the dataset contiguous or chunked'),
		(64, 'filters', '[hdf5 before 1.10.2: HDF5 1.10.2 and later write filtered chunks collectively][hdf5 1.10.2: build HDF5 with an MPI that has MPI-3]'),
		(1, 'independent I/O being asked for by a rank', 'set H5FD_MPIO_COLLECTIVE on all ranks')
	) as t (bit, why, fix)
)
select
	p.place as path,
	f.name as dataset,
	f.kind as what,
	f.n,
	f.asked,
	f.moves,
	f.seconds,
	f.calls,
	greatest(1, coalesce(h.cb_nodes, r.nodes)) as aggregators,
	coalesce((select string_agg(why, ' and ' order by bit) from word where f.cause & bit > 0), format('cause {}', f.cause)) as why,
	coalesce((select string_agg(word.fix, '; ' order by bit) from word where f.cause & bit > 0), 'ask H5Pget_mpio_no_collective_cause') as fix,
	f.seconds - greatest(f.most, ceil(f.asked / aggregators / 16777216)) * coalesce(s.latency, 0)
		- f.asked / aggregators * coalesce(s.per_byte, 0) as lost
from file as f join places() as p using (file) left join access_costs() as s on s.file = f.file and s.kind = f.kind
	left join aggregators_in_force() as h on h.file = f.file,
	runs as r
where lost > 0
