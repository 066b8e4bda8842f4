-- What an OTF2 archive holds of the selected calls. `which`: a condition on rows of `calls`. Times in ns.

-- The I/O paradigm that a layer speaks; other layers are their own.
create or replace macro spoken_paradigms() as table
select * from (values ('posix', 'POSIX'), ('aio', 'POSIX'), ('stdio', 'ISOC'), ('mpiio', 'MPI-IO'), ('hdf5', 'HDF5'), ('netcdf', 'netCDF'),
	('pnetcdf', 'PnetCDF')) as t (layer, paradigm);

-- Selected calls that moved data on nothing that was told.
create or replace macro otf2_bare(which) as table
select count(*) as calls from calls
where kind in ('read', 'write', 'post') and object is null and size is not null and layer <> 'fathom' and which;

-- The streams that have selected calls; `main`: of a process's first thread.
create or replace macro otf2_streams(which) as table
select s.stream, s.process, s.tid, s.side, s.tid = p.pid and not s.side as main
from streams as s join processes as p using (process)
where stream in (select stream from calls where which) order by stream;

-- All processes. `main`: the first of its rank; what it starts has its rank too. `server`: its name, where it served others.
create or replace macro otf2_processes() as table
with server_process as (from server_processes())
select p.process, p.pid, p.parent, p.node, p.exe, p.rank, p.process = min(p.process) over (partition by p.rank) as main, s.server
from processes as p left join server_process as s using (process)
order by p.process;

-- A region of each op that selected calls are.
create or replace macro otf2_regions(which) as table
select row_number() over (order by layer, op, kind) - 1 as region, layer, op, kind
from (select distinct layer, op, kind from calls where which);

-- Places in programs that selected calls were made from.
create or replace macro otf2_sites(which) as table
select site, coalesce(source, module || ' + 0x' || to_hex(address)) as file, coalesce(line, 0) as line
from sites where site in (select site from calls where which) order by site;

-- The I/O handles that selected calls were made on, and those above them: what was open, once per paradigm that used it, as a FILE * and its
-- descriptor. `parent` is the handle that it was made for: a dataset's file; else that of the nearest call around its opening on the same
-- file, as the MPI-IO handle for which ROMIO opens a descriptor. Parents have lower numbers, as readers want them. `created`, `ended`: the
-- calls that did so, of all threads; null: none, or one that is not selected.
create or replace macro otf2_handles(which) as table
with recursive spoken as (from spoken_paradigms()),
holding as (
	select o.*, f.path, f.kind as file_kind from objects as o left join files as f using (file)
	where class not in ('mapping', 'request', 'communicator', 'queue', 'unknown', 'named')
),
used as (
	select c.object, coalesce(s.paradigm, c.layer) as paradigm, bool_or(which) as chosen,
		arg_min(c.id, c.start) filter (c.kind = 'open' and error = 0) as opened,
		arg_max(c.id, c.start) filter (c.kind = 'close' and error = 0) as closed
	from calls as c left join spoken as s using (layer)
	where c.object in (select object from holding) and c.kind <> 'comm' and c.layer <> 'fathom'
	group by all
	-- Of other tools' logs only names are known: what was read or written by one was open by it.
	having bool_or(c.kind in ('read', 'write')) or c.object not in (select object from holding where class = 'path')
),
opened as (
	select m.object, m.paradigm, m.chosen, h.file, h.parent as within,
		if(m.paradigm = 'ISOC', m.opened, coalesce(h.created_by, m.opened)) as created,
		coalesce(m.closed, max(m.closed) over (partition by m.object)) as ended
	from used as m join holding as h using (object)
),
climb as (
	select object, paradigm, file, created as at, 0 as steps from opened where created is not null and within is null
	union all
	select k.object, k.paradigm, k.file, c.parent, k.steps + 1 from climb as k join calls as c on c.id = k.at where c.parent is not null
),
around as (
	select k.object, k.paradigm, arg_min({'object': o.object, 'paradigm': o.paradigm}, k.steps) as parent
	from climb as k join calls as c on c.id = k.at left join spoken as s using (layer)
		join opened as o on o.object = c.object and o.paradigm = coalesce(s.paradigm, c.layer) and o.file = k.file
	where o.object <> k.object or o.paradigm <> k.paradigm
	group by k.object, k.paradigm
),
related as (
	select o.*, if(w.object is null, a.parent, {'object': w.object, 'paradigm': w.paradigm}) as parent
	from opened as o left join around as a using (object, paradigm)
		left join opened as w on w.object = o.within and w.paradigm = o.paradigm
),
needed as (
	select object, paradigm, parent from related where chosen
	union
	select r.object, r.paradigm, r.parent from needed as n join related as r on r.object = n.parent.object and r.paradigm = n.parent.paradigm
),
below as (
	select object, paradigm, 0 as depth from needed where parent is null
	union all
	select n.object, n.paradigm, b.depth + 1 from below as b join needed as n on n.parent.object = b.object and n.parent.paradigm = b.paradigm
),
numbered as (
	select row_number() over (order by b.depth, object, paradigm) - 1 as handle, r.* from related as r join below as b using (object, paradigm)
)
select n.handle, n.object, n.paradigm, p.handle as parent, k.id as created, n.ended, h.process, h.class, h.name, n.file, h.path, h.file_kind,
	h.group_hash, coalesce(a.value, h.flags) as flags, c.op as created_op
from numbered as n join holding as h using (object)
	left join numbered as p on p.object = n.parent.object and p.paradigm = n.parent.paradigm
	left join calls as c on c.id = n.created
	left join (select id from calls where which) as k on k.id = n.created
	left join args as a on a.call = n.created and a.name in ('flags', 'amode', 'mode_flags');

-- Files that handles are on, but for pipes and the like. `scope`: number of the system tree's node that knows the file by this name: of a local
-- file system its own, else the machine (0). handles_of: name of rows of otf2_handles().
create or replace macro otf2_files(handles_of) as table
select file, path, kind, file_system, mount,
	coalesce((select min(node) + 1 from nodes where starts_with(files.key, nodes.boot_id || ':')), 0) as scope
from files
where file in (select file from query_table(handles_of)) and coalesce(kind, 'unknown') in ('regular', 'directory', 'block', 'unknown') and path <> ''
order by file;

-- Groups of ranks that files and messages were for, by their hash: `members` are world ranks in the group's own order, as each rank said which
-- it is; null where a rank is missing.
create or replace macro otf2_communicators() as table
with claims as (
	select distinct o.group_hash, o.communicator_size, o.group_members, o.group_rank, p.rank
	from objects as o join processes as p using (process)
	where o.group_hash is not null and p.rank is not null
)
select group_hash, coalesce(max(communicator_size), max(len(group_members))) as size,
	case
		when max(len(group_members)) >= coalesce(max(communicator_size), 0) then any_value(group_members)
		when count(distinct group_rank) = max(communicator_size) then list_transform(list_sort(list(distinct {'at': group_rank, 'rank': rank})), lambda one: one.rank)
	end as members
from claims group by group_hash order by group_hash;

-- Calls of the streams that have selected ones, each before those it holds; what is not selected is read to know what the selected
-- ones lie in (is_around). `action`: what the call does on its handle: mode + 4 if collective + 8 if posted; 16 where it is a
-- collective of MPI; -1 nothing. `extras`: what else is to be written at its end, in order. -1: not known, none.
create or replace macro otf2_calls(which, is_around, is_of_streams, shift, handles_of, communicators_of, speakers_of, collectives_of,
	code_completed, code_sought, code_locked, code_unlocked, code_tried, code_created, code_ended, code_serving, code_collective, code_received,
		code_sent) as table
with spoken as (
	from spoken_paradigms()
), region as (from otf2_regions(which)),
picked as (select *, which as chosen from calls where is_around),
asked as (
	select call, max(value) filter (name in ('distance', 'view_offset', 'position')) as distance,
		coalesce(max(value) filter (name = 'whence'), 0) as whence, max(value) filter (name = 'cmd') as cmd,
		max(value) filter (name = 'lock') as lock, max(value) filter (name = 'operation') as operation
	from args where call in (select id from calls where kind = 'seek' or op in ('fcntl', 'flock', 'lockf')) group by call
),
on_handle as (
	select c.*, h.handle from picked as c left join spoken as s using (layer)
		left join query_table(handles_of) as h on h.object = c.object and h.paradigm = coalesce(s.paradigm, c.layer)
),
locked as (
	select id, handle, error, op,
		case
			when op = 'fcntl' and cmd in (6, 7, 37, 38) then if(lock = 2, 'free', if(lock = 0, 'shared', 'exclusive'))
			when op = 'flock' then if(operation & 8 > 0, 'free', if(operation & 1 > 0, 'shared', 'exclusive'))
			when op = 'lockf' and operation < 3 then if(operation = 0, 'free', 'exclusive')
		end as way,
		case op when 'fcntl' then cmd in (6, 37) when 'flock' then operation & 4 > 0 else operation = 2 end as tries
	from on_handle join asked on asked.call = id
	where layer = 'posix' and op in ('fcntl', 'flock', 'lockf') and handle is not null
),
-- A reader matches messages of a communicator by their order: where some were posted, none is told.
talk as (
	select c.*, g.communicator, regexp_matches(op, '^MPI_([BRS]?[Ss]end|Recv|Sendrecv|Sendrecv_replace)(_c)?$') as blocking
	from picked as c join objects as o using (object) join query_table(communicators_of) as g on g.group_hash = o.group_hash
		join query_table(speakers_of) as m on m.stream = c.stream
	where c.layer = 'mpi' and regexp_matches(op, '[Ss]end|[Rr]ecv')
),
message as (
	select id, any_value(op) as op, any_value(communicator) as communicator, any_value(bytes) as bytes,
		max(value) filter (name = 'partner') as partner, max(value) filter (name = 'tag') as tag,
		max(value) filter (name = 'from') as "from", max(value) filter (name = 'from_tag') as from_tag,
		max(value) filter (name = 'arrived') as arrived
	from talk join args on args.call = id
	where communicator not in (select communicator from talk where not blocking) group by id
),
extra as (
	select arg_min(w.id, w.start) as id, code_completed as what, p.handle, p.id::bigint as a, max(coalesce(l.bytes::bigint, -1)) as b, -1::bigint as c
	from links as l join on_handle as p on p.id = l.to_call join picked as w on w.id = l.from_call
	where l.kind = 'completes' and p.chosen and p.handle is not null
	group by p.handle, p.id
	union all
	select id, code_sought, handle, coalesce(distance, 0), whence, if(op = 'lseek', result, -1)
	from on_handle join asked on asked.call = id
	where kind = 'seek' and handle is not null and error = 0 and op not in ('ftell', 'ftello', 'fgetpos', 'ungetc', 'ungetwc')
		and whence between 0 and 4
	union all
	select id, if(error <> 0, code_tried, if(way = 'free', code_unlocked, code_locked)), handle, (way = 'shared')::int, -1, -1
	from locked where way is not null and (error = 0 or tries)
	union all
	select created, code_created, handle, -1, -1, -1 from query_table(handles_of) where created is not null
	union all
	select ended, code_ended, handle, -1, -1, -1 from query_table(handles_of) where ended is not null
	union all
	select from_call, code_serving, -1, min(to_call)::bigint, -1, -1 from links where kind = 'serves' and to_call is not null group by from_call
	union all
	select c.id, code_collective, g.communicator, n.number, coalesce(r.value, -1), greatest(coalesce(c.bytes, 0), 0)
	from picked as c join objects as o using (object) join query_table(communicators_of) as g on g.group_hash = o.group_hash
		join query_table(collectives_of) as n on n.op = regexp_replace(c.op, '_c$', '')
		join query_table(speakers_of) as m on m.stream = c.stream
		left join args as r on r.call = c.id and r.name = 'root'
	where c.layer = 'mpi'
	union all
	select id, code_sent, partner, communicator, tag, greatest(coalesce(bytes, 0), 0)
	from message where op not like 'MPI_Recv%' and partner >= 0 and tag >= 0
	union all
	select id, code_received, coalesce("from", partner), communicator, coalesce(from_tag, tag), greatest(coalesce(arrived, bytes, 0), 0)
	from message where regexp_matches(op, '[Rr]ecv') and coalesce("from", partner) >= 0 and coalesce(from_tag, tag) >= 0
),
extras as (
	select id, list({'what': what, 'on': handle, 'a': a, 'b': b, 'c': c} order by what, if(what = code_ended, -handle, handle)) as extras,
		bool_or(what = code_collective) as together
	from extra group by id
)
select c.stream, c.id, coalesce(c.parent::bigint, -1) as parent, c.start + shift as start, c.start + c.duration + shift as stop,
	if(c.chosen, r.region, -1) as region, coalesce(c.handle, -1) as handle,
	case
		when not c.chosen then -1
		when e.together then code_collective
		when c.handle is null or c.layer = 'aio' and is_beside(c.layer, c.op) then -1
		when c.kind in ('read', 'write', 'sync', 'post') then
			case direction(c.kind, c.op) when 'read' then 0 when 'write' then 1 else 2 end + if(c.collective is not null or coalesce(w.collective,
				false) or a.value = 1, 4, 0) + if(c.kind = 'post', 8, 0)
		else -1
	end as action,
	coalesce(c.size, -1) as size, if(c.error = 0, coalesce(c.bytes, -1), -1) as bytes, coalesce(c.file_offset, -1) as file_offset,
	coalesce(c.site, -1) as site, c.error, if(c.chosen, e.extras, null) as extras
from on_handle as c left join region as r using (layer, op, kind) left join ops as w using (layer, op, kind)
	left join args as a on a.call = c.id and a.name = 'collective'
	left join extras as e using (id)
where is_of_streams
order by c.stream, c.start, c.id;
