-- Bytes that each process moved itself, by the lowest layers: not what its calls asked of others. Of a file that those did not move, by
-- MPI-IO (list requests to a forwarding server are no calls of POSIX); in a run that has neither, by its own calls. What MPI reads and
-- writes to start, to end and to communicate is no I/O of the program.
with data as (
	select
		process,
		file,
		c.kind,
		bytes,
		{at_storage} as low,
		layer = 'mpiio' and coalesce(enclosing_layer, '') <> 'mpiio' as middle,
		{outermost} as own
	from counters as c left join files as f using (file)
	where c.kind in ('read', 'write') and layer not in ('user', 'fathom')
		and {of_files}
		and (enclosing is null or enclosing_layer <> 'mpi' and (enclosing_layer, enclosing) not in (select (layer, op) from ops where kind = 'comm'))
),
moving as (
	select * from data where bytes > 0 and (low or middle)
),
below as (
	select file, kind, bool_or(low) as low, bool_or(middle) as middle from moving where file is not null group by file, kind
	union all
	-- Of ranks whose files are not known the bytes may be of any file.
	select null, kind, bool_or(low), bool_or(middle) from moving group by kind
),
chosen as (
	select data.*
	from data left join below on data.file is not distinct from below.file and data.kind = below.kind
	where case when below.low then data.low when below.middle then data.middle else own and not exists (from below) end
)
select
	process,
	any_value(p.rank) as rank,
	coalesce(sum(bytes) filter (kind = 'read'), 0) as bytes_read,
	coalesce(sum(bytes) filter (kind = 'write'), 0) as bytes_written
from processes as p left join chosen using (process)
group by process
order by process
