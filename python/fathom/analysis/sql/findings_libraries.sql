-- What MPI-IO, HDF5 and the netCDF libraries had moved below their calls. Findings stand on these; each is worked out once for each run.

-- Files that MPI-IO was used on: their ranks can call collectively.
create or replace macro mpiio_files() as table
select distinct file from counters where layer = 'mpiio' and file is not null;

-- Reads and writes of MPI-IO, and what the system calls below each did. Times in ns. Left out, since nothing can be better about the
-- way they are made and there may be millions: independent ones of one stretch of the file, unless below a call of netCDF.
-- Columns: id, parent, process, rank, file, object, kind, collective (its number, null: independent), start, duration, size (bytes
-- asked), first, span (bytes of the file from the first to the last that were asked; null: not known), pieces (of the file that
-- size is in; null: not known), moves (system calls of the same kind), moved (their bytes), other, other_moved (the same of reads
-- below a write), io (time of all these), locks, locking (calls and time of file locks), lowest, highest (bytes of the file they touched).
create or replace macro transfers() as table
with any_ as (
	select true
	where exists (from collectives join ops using (layer, op) where layer = 'mpiio' and (kind in ('read', 'write') or not agreed))
		or exists (from selections where not exact or blocks <> 1 or period not in (0, total))
		or exists (from counters where layer in ('netcdf', 'pnetcdf'))
),
data as (
	select c.*, p.rank as own_rank
	from calls as c join processes as p using (process)
	where exists (from any_) and c.layer = 'mpiio' and c.kind in ('read', 'write') and c.error = 0 and c.state = 'done' and coalesce(c.size, 0) >= 0
		and (c.collective is not null
			or c.selection in (select selection from selections where not exact or blocks <> 1 or period not in (0, total))
			or c.parent in (select id from calls where layer in ('netcdf', 'pnetcdf')))
),
below as (
	select
		b.parent as id,
		count(*) filter (b.kind = d.kind) as moves,
		coalesce(sum(b.bytes) filter (b.kind = d.kind), 0)::hugeint as moved,
		count(*) filter (b.kind = 'read' and d.kind = 'write') as other,
		coalesce(sum(b.bytes) filter (b.kind = 'read' and d.kind = 'write'), 0)::hugeint as other_moved,
		coalesce(sum(b.duration) filter (b.kind in ('read', 'write')), 0)::hugeint
			-- Asynchronous ones take from the first post to the last completion.
			+ coalesce(max(b.start) filter (b.layer = 'aio' and b.kind in ('read', 'write')) - min(b.start) filter (b.kind = 'post'), 0) as io,
		count(*) filter (b.op = 'fcntl') as locks,
		coalesce(sum(b.duration) filter (b.op = 'fcntl'), 0)::hugeint as locking,
		min(b.file_offset) filter (b.kind in ('read', 'write')) as lowest,
		max(b.file_offset + b.bytes) filter (b.kind in ('read', 'write')) as highest
	from calls as b join data as d on b.parent = d.id
	where b.layer in ('posix', 'aio') and (b.kind in ('read', 'write', 'post') and b.file is not distinct from d.file or b.op = 'fcntl')
	group by b.parent
)
select
	d.id, d.parent, d.process, d.own_rank as rank, d.file, d.object, d.kind, d.collective, d.start, d.duration, coalesce(d.size, 0) as size,
	coalesce(d.file_offset, s.displacement + s.box_start[1]::bigint) as first,
	case
		when d.selection is null then d.size
		when s.total > 0 then
			if(d.size < s.total, d.size * s.box_count[1] / s.total, (d.size / s.total - 1) * s.period + s.box_count[1])
	end::bigint as span,
	case
		when d.selection is null or s.total = s.box_count[1] and s.period in (0, s.total) then least(1, d.size)
		when s.exact and s.total > 0 then ceil(d.size * s.blocks / s.total)
		when len(s.part_bytes) > 0 then ceil(d.size / list_avg(s.part_bytes))
	end::bigint as pieces,
	coalesce(b.moves, 0) as moves, coalesce(b.moved, 0) as moved, coalesce(b.other, 0) as other, coalesce(b.other_moved, 0) as other_moved,
	coalesce(b.io, 0) as io, coalesce(b.locks, 0) as locks, coalesce(b.locking, 0) as locking, b.lowest, b.highest
from data as d left join below as b using (id) left join selections as s on s.selection = d.selection;

-- Collective reads and writes of MPI-IO, each with what all its ranks asked for and what the system calls below did. Times in ns.
-- Columns: collective, file, kind, ranks, asking (ranks that asked for bytes), movers (ranks that made system calls), asked (bytes),
-- most (bytes of the rank that asked for most), moves (system calls), moved (their bytes), other_moved (bytes read below a write), io
-- (system calls of the slowest rank), least (of the fastest that made any), wall (from the last rank's arrival to the last one's
-- leave), wait (until the last rank arrived),
-- two_phase (ranks moved what others asked for: those moved nothing, or what a rank asked for in pieces it moved in one stretch),
-- interleaved (ROMIO's test: a rank begins before the one before it ends),
-- handle, opened (tell one open of the file from the next), ordinal (n-th collective call on it), first_enter, last_leave, parent (of one
-- of them), calls (the slowest).
create or replace macro collective_transfers() as table
with each as (
	select
		t.*,
		max(first + span) over (partition by collective order by rank rows between unbounded preceding and 1 preceding) as before
	from transfers() as t
	where collective is not null
)
select
	e.collective,
	any_value(e.file) as file,
	any_value(e.kind) as kind,
	count(*) as ranks,
	count(*) filter (e.size > 0) as asking,
	count(*) filter (e.moves > 0) as movers,
	sum(e.size)::hugeint as asked,
	max(e.size) as most,
	sum(e.moves)::hugeint as moves,
	sum(e.moved)::hugeint as moved,
	sum(e.other_moved)::hugeint as other_moved,
	max(e.io) as io,
	min(e.io) filter (e.moves > 0) as least,
	any_value(c.last_leave - c.last_enter) as wall,
	any_value(c.last_enter - c.first_enter) as wait,
	bool_or(
		e.size > 0 and e.moves = 0 or e.moved > 0 and e.size = 0 or e.moved > 1.5 * e.size and e.span = e.size
		or e.span > e.size and e.moves > 0 and e.highest - e.lowest <= e.moved
	) as two_phase,
	bool_or(e.span > e.size or e.first < e.before) as interleaved,
	any_value(c.group_hash) as handle,
	any_value(c.open_ordinal) as opened,
	any_value(c.ordinal) as ordinal,
	any_value(c.first_enter) as first_enter,
	any_value(c.last_leave) as last_leave,
	min(e.parent) as parent,
	max_by(e.id, e.duration, 2) as calls
from each as e join collectives as c using (collective)
group by e.collective;

-- What a byte costs that an aggregator of two-phase calls receives: the slope of a line through what their exchange took beside system
-- calls. Known where calls on files alike differ in bytes by 4 and more; none where more bytes did not take longer.
-- Columns: file, kind, per_byte (seconds, of the bytes that one aggregator moves).
create or replace macro exchange_costs() as table
with each as (
	select p.place, t.kind, t.asked / t.movers as bytes, greatest(0, t.wall - t.io) / 1e9 as seconds
	from collective_transfers() as t join places() as p using (file)
	where t.two_phase and t.movers > 0 and t.asked > 0
),
line as (
	select place, kind, if(corr(seconds, bytes) > 0.7, least(regr_slope(seconds, bytes), sum(seconds) / sum(bytes)), 0) as per_byte
	from each
	group by place, kind
	having max(bytes) >= 4 * min(bytes)
)
select p.file, l.kind, l.per_byte from line as l join places() as p using (place);

-- Calls of HDF5's file drivers that moved data, where it is known of which type. A table, so that the database knows how few they are
-- before it joins them with all calls.
-- Columns: id, process, parent, duration (ns), kind.
create or replace macro driver_calls() as table
select id, process, parent, duration, if(op like 'H5FD_read%', 'read', 'write') as kind
from calls
where layer = 'hdf5' and op like 'H5FD%' and exists (from args where name = 'mem_type');

-- What HDF5 had its file driver move, of each of its calls: raw data or metadata (docs/tables.md). Times in ns. Of runs without such
-- calls nothing is read but the layer.
-- Columns: call (HDF5's, null: not known), op, caller (its kind), object, asked (bytes), process, file, kind, raw (false: metadata),
-- n (calls of the driver), moves (of MPI-IO or POSIX below), bytes, time, worst (id of a driver's call).
create or replace macro driver_transfers() as table
with type as (
	select call as id, value = 3 as raw from args where name = 'mem_type' and exists (from driver_calls())
),
below as (
	select parent as id, any_value(file) as file, count(*) as moves, coalesce(sum(bytes), 0)::hugeint as bytes
	from calls
	where layer in ('posix', 'mpiio') and kind in ('read', 'write') and parent in (select id from driver_calls())
	group by parent
),
each as (
	select
		d.parent as call, d.process, b.file, d.kind, t.raw, count(*) as n, sum(b.moves)::hugeint as moves, sum(b.bytes)::hugeint as bytes,
		sum(d.duration)::hugeint as time, max_by(d.id, d.duration) as worst
	from driver_calls() as d join type as t using (id) join below as b using (id)
	group by all
),
caller as (
	select id, op, kind, object, size from calls where id in (select parent from driver_calls())
)
select e.*, c.op, c.kind as caller, c.object, c.size as asked
from each as e left join caller as c on c.id = e.call;

-- Does this function end a definition of a netCDF file?
create or replace macro is_enddef(layer, op) as
layer in ('netcdf', 'pnetcdf') and op in ('nc_enddef', 'nc__enddef', 'ncmpi_enddef', 'ncmpi__enddef');

-- Calls of a netCDF library that end a definition. A table, so that the database knows how few they are before it joins them with all calls.
-- Columns: id, op, duration (ns).
create or replace macro enddefs() as table
select id, op, duration
from calls
where is_enddef(layer, op);

-- Data that a netCDF library moved when definitions ended: classic form, by system calls or by MPI-IO. (What is in HDF5's form has
-- HDF5's calls between: driver_transfers().) A row for each such call; of those that were only counted, one for all of a process and file.
-- Columns: id (null: counted), op, process, file (null: not known), n (calls that ended one), read, written (bytes), time (ns, of these n),
-- calls.
create or replace macro definitions() as table
with moved as (
	select d.id, d.op, d.duration as whole, c.process, c.file, c.kind, c.bytes, c.id as worst, c.duration as took
	from calls as c join enddefs() as d on c.parent = d.id
	where c.layer = 'posix' and c.kind in ('read', 'write') and c.file is not null
	union all
	select d.id, d.op, d.duration, t.process, t.file, t.kind, t.moved, t.id, t.io from transfers() as t join enddefs() as d on t.parent = d.id
),
ended as (
	select op, process, file, sum(calls)::bigint as n, sum(time)::bigint as time
	from counters
	where is_enddef(layer, op) and recorded = 0
	group by all
),
counted as (
	select enclosing as op, process, file, kind, sum(bytes) as bytes
	from counters
	where is_enddef(enclosing_layer, enclosing) and kind in ('read', 'write')
	group by all
)
select
	id, op, process, file, 1 as n,
	coalesce(sum(bytes) filter (kind = 'read'), 0)::hugeint as read,
	coalesce(sum(bytes) filter (kind = 'write'), 0)::hugeint as written,
	any_value(whole) as time,
	max_by(worst, took, 2) as calls
from moved
group by id, op, process, file
union all
select
	null, e.op, e.process, e.file, any_value(e.n), coalesce(sum(c.bytes) filter (c.kind = 'read'), 0)::hugeint,
	coalesce(sum(c.bytes) filter (c.kind = 'write'), 0)::hugeint, any_value(e.time), []::ubigint[]
from ended as e join counted as c on c.op = e.op and c.process = e.process and c.file is not distinct from e.file
group by e.op, e.process, e.file;

-- Processes whose MPI-IO is ROMIO's: its own files have keys that nobody asked for, or copy the communicator
-- (collective_exchange()). Where MPI is Open MPI, the others' is OMPIO's.
-- Columns: process.
create or replace macro romio_users() as table
select distinct process from counters where enclosing_layer = 'mpiio' and enclosing = 'MPI_File_open' and op = 'MPI_Comm_dup'
union
select distinct process from hints_in_force where source = 'in force' and key = 'romio_filesystem_type';

-- As many ranks as the hints in force of a file have move its bytes. Columns: file, cb_nodes.
create or replace macro aggregators_in_force() as table
select file, max(try_cast(value as bigint)) as cb_nodes from hints_in_force where key = 'cb_nodes' and source = 'in force' group by file;

-- Processes whose MPI-IO is OMPIO's, which takes few hints and has parameters of its own (ompi_info --param).
-- Columns: process.
create or replace macro ompio_users() as table
select process from processes where mpi like '%Open MPI%' and process not in (from romio_users());

-- Reads and writes of printf and scanf and of Fortran's statements: what the library took for itself beside the bytes that moved. A statement
-- does not tell its bytes: those of its system calls. Of each process and place; `all files` where files are not known.
-- Columns: layer, process, path, kind, formatted (text is made or read), op, files, n (calls that did not fail), bytes, seconds.
create or replace macro conversions() as table
with each as (
	select layer, process, file, kind, is_formatted(op) as formatted, op, calls - errors as n, bytes
	from counters
	where (is_formatted(op) or is_silent(layer)) and kind in ('read', 'write')
	union all
	select enclosing_layer, process, file, kind, is_formatted(enclosing), null, 0, bytes
	from counters
	where is_silent(enclosing_layer) and (enclosing like 'READ%' or enclosing like 'WRITE%') and is_system(layer) and kind in ('read', 'write')
),
moved as (
	select layer, process, file, kind, formatted, any_value(op) as op, sum(n)::double as n, sum(bytes)::double as bytes
	from each
	group by layer, process, file, kind, formatted
),
took as (
	select layer, process, file, kind, is_formatted(op) as formatted, sum(time) / 1e9 as seconds
	from account()
	where cause = 'library' and (is_formatted(op) or is_silent(layer)) and kind in ('read', 'write')
	group by all
)
select
	m.layer, m.process, coalesce(p.place, 'all files') as path, m.kind, m.formatted, any_value(m.op) as op,
	list(m.file) filter (m.file is not null) as files, sum(m.n) as n, sum(m.bytes) as bytes, sum(t.seconds) as seconds
from moved as m join took as t on t.layer = m.layer and t.process = m.process and t.kind = m.kind and t.formatted = m.formatted
		and t.file is not distinct from m.file
	left join places() as p on p.file = m.file
where m.file is null or p.file is not null
group by m.layer, m.process, p.place, m.kind, m.formatted;
