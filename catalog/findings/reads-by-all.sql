-- title:  Every rank reads the same bytes
-- layer:  posix
-- limit:  two ranks or more ask for the same offset and size. Of a log that only counted: together they read twice what lies before the last byte
--   that was read, none of them more than that. Collective calls are left out, and files that somebody writes
-- says:   {path}: {ranks:count} ranks read the same {size:size}, {seconds:seconds} of the slowest
-- lost:   of bytes that m ranks read, (m - 1) / m of what the first reading took the slowest rank
-- needs:  counters, ranks
-- sure:   0.5
-- fix:    read with a collective call, or one rank reads and broadcasts[hdf5: ; for metadata H5Pset_all_coll_metadata_ops]
-- causes: transfer, requests, contention, unexplained, needless
-- seen:   Carns et al. 2011 (Darshan); Thakur, Gropp, Lusk 1999
with shared as (
	select r.*, count(*) over (partition by r.file, r.file_offset, r.bytes) as ranks
	from reread() as r join processes as p using (process)
	where p.rank is not null
),
recorded as (
	select
		p.place as path, s.process, max(s.ranks) as ranks, max(s.scale) as scale, sum(s.bytes) * max(s.scale) as bytes,
		sum(s.time / s.n * (1 - 1 / s.ranks)) / 1e9 * max(s.scale) as lost, max_by(s.worst, s.longest, 8) as worst
	from shared as s join places() as p using (file)
	where s.ranks > 1
	group by p.place, s.process
),
-- A log of Darshan says up to which byte a file was read.
read_end as (
	select file, split_part(key, '_', 1) as layer, max(try_cast(value as bigint)) as read_end
	from hints_in_force
	where key in ('posix_read_end', 'stdio_read_end') and file is not null
	group by all
),
of_rank as (
	select c.process, c.file, c.layer, e.read_end, sum(c.bytes)::double as bytes, sum(c.time) / 1e9 as seconds
	from counters as c join read_end as e using (file, layer) join processes as p using (process)
	where c.kind = 'read' and c.recorded = 0 and c.bytes > 0 and p.rank is not null and c.file in (from read_together())
		and (c.enclosing_layer, c.enclosing) not in (select (o.layer, o.op) from account_collectives() as o)
	group by all
),
-- How many ranks read a byte, on average.
times as (
	select file, layer, sum(bytes) / any_value(read_end) as ranks
	from of_rank
	group by file, layer
	having max(bytes) <= any_value(read_end) and sum(bytes) >= 2 * any_value(read_end)
),
counted as (
	select
		p.place as path, r.process, floor(max(t.ranks))::bigint as ranks, sum(r.read_end) as bytes, sum(r.seconds * (1 - 1 / t.ranks)) as lost,
		[]::ubigint[] as worst
	from of_rank as r join times as t using (file, layer) join places() as p using (file)
	group by p.place, r.process
),
process as (
	select path, ranks, bytes, lost, worst from recorded
	union all
	select path, ranks, bytes, lost, worst from counted
)
select
	path,
	max(ranks) as ranks,
	max(bytes) as size,
	max(lost) as seconds,
	list_slice(flatten(list(worst)), 1, 8) as calls,
	max(lost) as lost
from process
group by path
