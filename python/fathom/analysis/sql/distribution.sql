-- How data are spread over ranks: the bytes and array elements that each rank touched. Times in ns, offsets and sizes in bytes.

-- Calls on the highest layer that Fathom knows arrays or bytes of: calls that no call of such a layer holds. is_inside:
-- some are inside of regions, waits for threads or functions of a user's own catalog. share: that of each thread's rows that is
-- looked at, from its first on, and of each no fewer than 16: of very many threads that make few calls a share is none. Calls that
-- failed are left out. `direction` is null where no data move.
create or replace macro top_calls(is_inside, share) as table
with recursive talk as (
	select file from files as f where not (is_file(f.kind, f.path, f.file_system))
),
holder as (
	select id from calls where is_inside and parent is null and not is_holder(layer)
	union all
	select c.id from holder join calls as c on c.parent = holder.id where not is_holder(c.layer)
),
looked as (
	select stream, ((stream::ubigint << 40) + greatest(ceil(events * share), 16)::ubigint) as beyond from streams
),
data as not materialized (
	select c.id, c.process, c.layer, c.op, c.kind, c.object, c.file, c.start, c.size, c.bytes, c.file_offset, c.selection, c.collective
	from calls as c join looked as l using (stream)
	where depth = 0 and not is_beside(c.layer, c.op) and c.id < l.beyond and error = 0 and c.file is not null
		and is_holder(c.layer) and c.layer not in ('mpi', 'fathom') and c.file not in (from talk)
	union all
	select c.id, c.process, c.layer, c.op, c.kind, c.object, c.file, c.start, c.size, c.bytes, c.file_offset, c.selection, c.collective
	from calls as c join holder as h on c.parent = h.id join looked as l using (stream)
	where is_inside and not is_beside(c.layer, c.op) and c.id < l.beyond and error = 0 and c.file is not null
		and is_holder(c.layer) and c.layer not in ('mpi', 'fathom') and c.file not in (from talk)
)
select
c.*,
	coalesce(p.rank, p.process)::bigint as who,
	least(case when kind = 'post' then size else coalesce(bytes, size) end, size) as moved,
	direction(c.kind, c.op) as direction
from data as c join processes as p using (process), (select bool_or(rank is not null) as mpi from processes) as job
where p.rank is not null or not job.mpi;

-- Reads and writes (and their posts) on the highest layer, and how many were recorded in full. `inside`: some calls lie inside of what the
-- program or its own catalog named.
create or replace macro data_calls() as table
with data as (
	select calls, recorded, enclosing_layer
	from counters as c left join files as f using (file), (select bool_or(rank is not null) as mpi from processes) as job
	join processes as p on p.process = c.process
	where direction(c.kind, c.op) is not null
		and (enclosing_layer is null or not is_holder(enclosing_layer)) and is_holder(c.layer) and c.layer not in ('mpi', 'fathom')
		and (p.rank is not null or not job.mpi) and is_file(f.kind, f.path, f.file_system)
)
select
	coalesce(sum(calls), 0) as calls,
	coalesce(sum(recorded), 0) as recorded,
	coalesce(bool_or(enclosing_layer is not null and recorded > 0), false) as inside
from data;

-- Bytes of each file that each rank read or wrote through no view: intervals [first, end), those that touch or overlap as one. Of asynchronous
-- calls what was asked counts as moved.
create or replace macro bytes_by_rank(is_inside, share) as table
with top as (from top_calls(is_inside, share)),
ranges as (
	select file, layer, direction, who, start, file_offset as a, file_offset + coalesce(moved, 0) as z, kind, collective
	from top
	where layer in ('mpiio', 'stdio', 'aio', 'posix') and selection is null and direction is not null and file_offset is not null
),
islands as (
	select *, a > max(z) over (partition by file, layer, direction, who order by a, z rows between unbounded preceding and 1 preceding) as begins
	from ranges
	where z > a
),
numbered as (
	select *, sum(begins::bigint) over (partition by file, layer, direction, who order by a, z rows unbounded preceding) as island from islands
),
runs as (
	select
		file, layer, direction, who, coalesce(island, 0) as island, min(a) as a, max(z) as z, count(*) as calls, sum(z - a) as bytes,
		count(*) filter (collective is not null) as collective, count(*) filter (kind = 'post') as posted, min(start) as first_start
	from numbered
	group by file, layer, direction, who, coalesce(island, 0)
)
select
	any_value(f.path) as path,
	runs.file,
	layer,
	direction,
	who,
	list(a order by a) as firsts,
	list(z order by a) as ends,
	sum(calls) as calls,
	sum(collective) as collective,
	sum(posted) as posted,
	sum(bytes) as bytes,
	min(first_start)::bigint as first_start
from runs join files as f on f.file = runs.file
group by runs.file, layer, direction, who
order by runs.file, layer, direction, who;

-- What each rank selected of each dataset or variable. One row per rank and shape: `starts`, the row-major indices of where the shape was put
-- (-1: not known), each once; selection null: everything.
create or replace macro selected_by_rank(is_inside, share) as table
with top as (from top_calls(is_inside, share)),
begun as (
	select call, value from args where name = 'start'
),
variable as (
	select object, name, extents, element_bytes
	from objects
	where class in ('hdf5_dataset', 'pnetcdf_variable', 'netcdf_variable')
),
placed as (
	select top.*, v.name, v.extents, v.element_bytes, case when op like '%chunk%' then -1 else coalesce(b.value, -1) end as spot
	from top join variable as v using (object) left join begun as b on b.call = top.id
	where is_array_library(layer) and direction is not null
)
select
	any_value(f.path) as path,
	placed.file,
	layer,
	name,
	direction,
	who,
	selection,
	max(extents) as extents,
	max(element_bytes)::bigint as element_bytes,
	list(distinct spot order by spot) as starts,
	count(*)::bigint as calls,
	count(*) filter (collective is not null)::bigint as collective,
	count(*) filter (placed.kind = 'post')::bigint as posted,
	coalesce(sum(moved), 0) as bytes,
	min(start)::bigint as first_start
from placed join files as f on f.file = placed.file
group by placed.file, layer, name, direction, who, selection
order by placed.file, layer, name, direction, who, selection;

-- What each rank read or wrote through file views. `offsets`: first bytes in the file (null: not known), `sizes`: bytes; call by call.
create or replace macro views_by_rank(is_inside, share) as table
with top as (from top_calls(is_inside, share))
select
	any_value(f.path) as path,
	top.file,
	layer,
	direction,
	who,
	selection,
	list(file_offset order by top.id) as offsets,
	list(coalesce(moved, 0) order by top.id) as sizes,
	count(*)::bigint as calls,
	count(*) filter (collective is not null)::bigint as collective,
	count(*) filter (top.kind = 'post')::bigint as posted,
	sum(coalesce(moved, 0)) as bytes,
	min(start)::bigint as first_start
from top join files as f on f.file = top.file
where layer = 'mpiio' and selection is not null and direction is not null and moved > 0
group by top.file, layer, direction, who, selection
order by top.file, layer, direction, who, selection;

-- Reads and writes of files that say nothing of where: offsets that are not known, calls on attributes, on several datasets at once.
create or replace macro unplaced_accesses(is_inside, share) as table
with top as (from top_calls(is_inside, share))
select
	any_value(f.path) as path,
	top.file,
	layer,
	direction,
	case
		when not is_array_library(layer) then 'offset not known'
		when o.class = 'hdf5_attribute' or regexp_matches(op, '_att|H5A') then 'attribute'
		else 'several at once'
	end as what,
	count(*)::bigint as calls,
	coalesce(sum(moved), 0) as bytes
from top join files as f on f.file = top.file left join objects as o using (object)
where direction is not null and
	case
		when is_array_library(layer) then coalesce(o.class, '') not in ('hdf5_dataset', 'pnetcdf_variable', 'netcdf_variable')
		else selection is null and file_offset is null
	end
group by top.file, layer, direction, what
order by top.file, layer, direction, what;

-- What the first rank of each group of files did with them, call after call: at most most_steps of each group. `files`: the group, as in file_uses().
create or replace macro file_steps(is_inside, share, most_steps) as table
with top as (from top_calls(is_inside, share)),
mine as (
	select
		file_group(f.path) as files,
		top.file,
		who,
		start,
		top.id,
		case
			when top.kind = 'post' then 'post ' || direction
			when class in ('hdf5_dataset', 'pnetcdf_variable', 'netcdf_variable') and top.kind in ('open', 'close') then
				case when op like '%create%' then 'create dataset' else top.kind || ' dataset' end
			else top.kind
		end as step
	from top join files as f on f.file = top.file left join objects as o using (object)
	where top.kind in ('open', 'close', 'read', 'write', 'post', 'wait', 'sync')
		and coalesce(class, '') not in ('hdf5_attribute', 'hdf5_group', 'hdf5_datatype', 'hdf5_other', 'netcdf_group')
		and (top.kind <> 'post' or direction is not null)
),
one as (
	select *, row_number() over (partition by files order by start, id) as n
	from mine join (select files, min(who) as who from mine group by files) using (files, who)
)
select files, list(step order by n) as steps, max(n)::bigint as calls, any_value(who) as who
from one
where n <= most_steps
group by files
order by files;

-- Which ranks read and wrote each file, at every level that tells files apart. `files`: its name with numbers as `*`.
create or replace macro file_uses() as table
select
	c.file,
	any_value(f.path) as path,
	any_value(file_group(f.path)) as files,
	list(distinct coalesce(p.rank, p.process)::bigint) as who
from counters as c join files as f using (file) join processes as p using (process), (select bool_or(rank is not null) as mpi from processes) as job
where direction(c.kind, c.op) is not null and (p.rank is not null or not job.mpi)
	and (enclosing_layer is null or not is_holder(enclosing_layer))
	and not is_no_io(c.layer) and is_file(f.kind, f.path, f.file_system)
group by c.file
order by c.file;

-- Of the reads and writes of each file by offsets: which share begins where the one before ended or behind it, at every level. The first after
-- each opening has none before it; where fewer than 8 have one, nothing is said.
create or replace macro access_order() as table
with own as (
	select *
	from counters
	where file is not null and layer in ('mpiio', 'stdio', 'aio', 'posix')
		and (enclosing_layer is null or not is_holder(enclosing_layer))
),
opened as (
	select file, layer, sum(calls) as opens from own where kind = 'open' group by file, layer
),
accessed as (
	select file, layer, kind as direction, sum(sequential) as sequential, sum(calls - errors) as accesses, count(distinct process) as processes
	from own
	where kind in ('read', 'write') and sequential is not null
	group by file, layer, kind
)
select file, layer, direction, sequential / (accesses - greatest(coalesce(opens, 0), processes)) as forward
from accessed left join opened using (file, layer)
where accesses - greatest(coalesce(opens, 0), processes) >= 8;

-- The selections that calls of the arrays' libraries and of MPI-IO used.
create or replace macro used_selections() as table
select
	selection::bigint as selection, form, exact, displacement, period::bigint as period, total::bigint as total, hash, box_start, box_count,
	block_start, block_count, part_start, part_bytes, part_levels, part_count, part_stride
from selections
where selection in (select distinct selection from calls where selection is not null and is_library(layer));
