-- title:  Chunks are read again, or moved for a part of what they hold
-- layer:  hdf5
-- limit:  the chunks that a dataset's calls moved hold more than 1.5 times the bytes that were asked for. Chunks are too large, or fall out of
--   the cache too early, which is empty each time a dataset is opened
-- says:   {path}{dataset}: {n:count} calls asked for {asked:size}, and {chunks:count} chunks that hold {held:size} were moved, {times:times} as much
--   (chunks of {chunk}, cache of {cache}[, {filters}]){opened}; {seconds:seconds} of the slowest process
-- lost:   of a filtered dataset its calls, less the share that moves each chunk once. Else the accesses below, less the share of
--   what was asked for
-- sure:   0.8
-- fix:    {fix}
-- knob:   chunk_cache, chunk
-- causes: needless, requests, transfer, library, unexplained, contention
-- seen:   HDF5, chunking and caching; h5py documentation, chunked storage
with process as (
	select
		d.process, d.file, o.name, d.caller as what, count(distinct d.call) as n, sum(d.n)::hugeint as accesses, sum(d.bytes)::hugeint as moved,
		sum(d.time) / 1e9 as below, max_by(d.worst, d.time, 4) as calls
	from driver_transfers() as d join objects as o on o.object = d.object and o.class = 'hdf5_dataset'
	where d.raw and d.caller in ('read', 'write')
	group by all
),
asked as (
	select
		c.process, c.file, o.name, c.kind as what, sum(c.size)::hugeint as asked, sum(c.duration) / 1e9 as seconds, count(distinct o.object) as opens,
		max(o.element_bytes) as element_bytes, max(list_product(o.extents)) as elements
	from calls as c join objects as o on o.object = c.object and o.class = 'hdf5_dataset'
	where exists (from driver_transfers()) and c.layer = 'hdf5' and c.kind in ('read', 'write') and c.error = 0
	group by all
),
form as (
	select
		o.file, o.name, any_value(h.value) filter (h.key = 'chunk') as chunk, any_value(h.value) filter (h.key = 'chunk_cache') as cache,
		any_value(h.value) filter (h.key = 'filters' and h.value not in ('', 'none')) as filters
	from hints_in_force as h join objects as o on o.object = h.object and o.class = 'hdf5_dataset'
	where h.key in ('chunk', 'chunk_cache', 'filters')
	group by o.file, o.name
	having chunk is not null
),
-- A filtered chunk is moved as one, whatever it takes in the file.
counted as (
	select
		p.*, a.* exclude (process, file, name, what), f.* exclude (file, name),
		list_product(list_transform(string_split(f.chunk, 'x'), lambda one: try_cast(one as double))) as chunk_elements,
		if(f.filters is null, p.moved::double / (chunk_elements * a.element_bytes), p.accesses) as chunks,
		if(f.filters is null, p.moved::double, chunks * chunk_elements * a.element_bytes) as held,
		if(f.filters is null, p.below, a.seconds) as spent,
		if(f.filters is null, a.asked / p.moved, least(1, ceil(a.elements / chunk_elements) / chunks)) as needed
	from process as p join asked as a using (process, file, name, what) join form as f using (file, name)
)
select
	p.place as path,
	c.name as dataset,
	c.what,
	sum(c.n)::hugeint as n,
	sum(c.asked)::hugeint as asked,
	sum(c.chunks)::hugeint as chunks,
	sum(c.held)::hugeint as held,
	sum(c.held) / sum(c.asked) as times,
	any_value(c.chunk) as chunk,
	any_value(c.cache) as cache,
	any_value(c.filters) as filters,
	bool_or(c.opens > 2 and c.opens > c.n / 2) as is_reopened,
	if(is_reopened, format('; it was opened {} times', max(c.opens)), '') as opened,
	case
		when is_reopened then 'open the dataset once, before the loop: each open begins with an empty chunk cache'
		else 'a chunk cache (H5Pset_chunk_cache) that holds all chunks one call touches, or chunks of the shape of the calls'
	end as fix,
	max(c.spent) as seconds,
	flatten(max_by(c.calls, c.spent, 2)) as calls,
	max(c.spent * (1 - c.needed)) as lost
from counted as c join places() as p using (file)
where c.held > 1.5 * c.asked
group by p.place, c.name, c.what
