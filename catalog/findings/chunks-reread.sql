-- title:  Chunks are moved for a part of what they hold
-- layer:  hdf5
-- limit:  a dataset's raw data moved more than 1.5 times the bytes that its calls asked for. Chunks are too large, or fall out of
--   the cache too early
-- says:   {path}{dataset}: {n:count} calls asked for {asked:size} and {moves:count} accesses moved {moved:size}, {times:times} as much
--   (chunks of {chunk}, cache of {cache}); {seconds:seconds} of the slowest process
-- lost:   those accesses, less the share that moves what was asked for
-- sure:   0.8
-- fix:    a chunk cache (H5Pset_chunk_cache) that holds all chunks one call touches, or chunks of the shape of the calls
-- knob:   chunk_cache, chunk
-- seen:   HDF5, chunking and caching; h5py documentation, chunked storage
with process as (
	select
		d.process, d.file, o.name, d.caller as what, count(distinct d.call) as n, sum(d.moves)::hugeint as moves, sum(d.bytes)::hugeint as moved,
		sum(d.time) / 1e9 as seconds, max_by(d.worst, d.time, 4) as calls
	from driver_transfers() as d join objects as o on o.object = d.object and o.class = 'hdf5_dataset'
	where d.raw and d.caller in ('read', 'write')
	group by all
),
asked as (
	select c.process, c.file, o.name, c.kind as what, sum(c.size)::hugeint as asked
	from calls as c join objects as o on o.object = c.object and o.class = 'hdf5_dataset'
	where exists (from driver_transfers()) and c.layer = 'hdf5' and c.kind in ('read', 'write') and c.error = 0
	group by all
),
form as (
	select o.file, o.name, any_value(h.value) filter (h.key = 'chunk') as chunk, any_value(h.value) filter (h.key = 'chunk_cache') as cache
	from hints_in_force as h join objects as o on o.object = h.object and o.class = 'hdf5_dataset'
	where h.key in ('chunk', 'chunk_cache')
	group by o.file, o.name
)
select
	p.place as path,
	m.name as dataset,
	m.what,
	sum(m.n)::hugeint as n,
	sum(a.asked)::hugeint as asked,
	sum(m.moves)::hugeint as moves,
	sum(m.moved)::hugeint as moved,
	sum(m.moved) / sum(a.asked) as times,
	any_value(f.chunk) as chunk,
	any_value(f.cache) as cache,
	max(m.seconds) as seconds,
	flatten(max_by(m.calls, m.seconds, 2)) as calls,
	max(m.seconds * (1 - a.asked / m.moved)) as lost
from process as m join asked as a using (process, file, name, what) join form as f using (file, name) join places() as p using (file)
where f.chunk is not null and m.moved > 1.5 * a.asked
group by p.place, m.name, m.what
