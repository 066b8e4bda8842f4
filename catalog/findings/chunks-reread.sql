-- title:  Chunks are read again, or moved for a part of what they hold
-- layer:  hdf5
-- limit:  the chunks that a dataset's calls moved hold more than 1.5 times the bytes that were asked for. Chunks are too large, or fall out of
--   the cache too early, which is empty each time a dataset is opened. Where calls were only counted: a file's filtered chunks were moved more
--   often than there are any
-- says:   {path}{dataset}: {n:count} calls asked for {asked:size}, and {chunks:count} chunks that hold {held:size} were moved, {times:times} as much
--   (chunks of {chunk}, cache of {cache}[, {filters}]){opened}; {seconds:seconds} of the slowest process
-- lost:   of a filtered dataset its calls, less the share that moves each chunk once. Else the accesses below, less the share of
--   what was asked for
-- sure:   0.8
-- fix:    {fix}
-- knob:   chunk_cache, chunk
-- needs:  counters
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
),
-- Where calls were only counted: of a file all datasets together, whose chunks are no smaller than the least of them.
file_form as (
	select
		o.file, any_value(f.chunk) as chunk, any_value(f.cache) as cache, any_value(f.filters) as filters,
		min(list_product(list_transform(string_split(f.chunk, 'x'), lambda one: try_cast(one as double))) * o.element_bytes) as chunk_bytes,
		sum(ceil(o.elements / list_product(list_transform(string_split(f.chunk, 'x'), lambda one: try_cast(one as double))))) as chunks
	from form as f join (
			select file, name, max(element_bytes) as element_bytes, max(list_product(extents)) as elements
			from objects where class = 'hdf5_dataset' group by file, name
		) as o using (file, name)
	where f.filters is not null
	group by o.file
	having count(*) = (select count(distinct d.name) from objects as d where d.class = 'hdf5_dataset' and d.file = o.file)
),
file_below as (
	select file, process, kind as what, sum(calls - errors) as n, sum(bytes)::hugeint as moved
	from counters
	where kind in ('read', 'write') and enclosing_layer = 'hdf5' and reaches_storage(layer, enclosing_layer) and recorded = 0 and file is not null
	group by all
),
file_asked as (
	select
		c.file, c.process, c.kind as what, sum(c.calls - c.errors) as n, sum(c.bytes)::hugeint as asked, sum(c.time) / 1e9 as seconds,
		(select count(*) from objects as o where o.class = 'hdf5_dataset' and o.file = c.file) as opens
	from own_counters() as c
	where c.layer = 'hdf5' and c.kind in ('read', 'write') and c.file in (select file from file_form)
	group by all
),
every as (
	select file, name as dataset, what, n, asked, chunks, held, chunk, cache, filters, opens, spent, needed, calls from counted
	union all
	select
		a.file, '', what, a.n, a.asked, b.n, b.n * f.chunk_bytes, f.chunk, f.cache, f.filters, a.opens, a.seconds, least(1, f.chunks / b.n), []
	from file_asked as a join file_below as b using (file, process, what) join file_form as f using (file)
	-- A file's first reads are of metadata.
	where b.n - 16 > 1.5 * f.chunks and a.file not in (select file from counted)
)
select
	p.place as path,
	c.dataset,
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
from every as c join places() as p using (file)
where c.held > 1.5 * c.asked
group by p.place, c.dataset, c.what
