-- Calls of the streams that have selected ones, each before those it holds; what is not selected is read to know what the selected
-- ones lie in. `action`: what the call does on its handle: mode + 4 if collective + 8 if posted; 16 where it is a
-- collective of MPI; -1 nothing. `extras`: what else is to be written at its end, in order. -1: not known, none.
with {spoken}, region as ({regions}),
picked as (select *, {where} as chosen from calls where {around}),
asked as (
	select call, max(value) filter (name in ('distance', 'view_offset', 'position')) as distance,
		coalesce(max(value) filter (name = 'whence'), 0) as whence, max(value) filter (name = 'cmd') as cmd,
		max(value) filter (name = 'lock') as lock, max(value) filter (name = 'operation') as operation
	from args where call in (select id from calls where kind = 'seek' or op in ('fcntl', 'flock', 'lockf')) group by call
),
on_handle as (
	select c.*, h.handle from picked as c left join spoken as s using (layer)
		left join handle as h on h.object = c.object and h.paradigm = coalesce(s.paradigm, c.layer)
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
	from picked as c join objects as o using (object) join communicator as g on g.group_hash = o.group_hash
		join speaker as m on m.stream = c.stream
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
	select arg_min(w.id, w.start) as id, {completed} as what, p.handle, p.id::bigint as a, max(coalesce(l.bytes::bigint, -1)) as b, -1::bigint as c
	from links as l join on_handle as p on p.id = l.to_call join picked as w on w.id = l.from_call
	where l.kind = 'completes' and p.chosen and p.handle is not null
	group by p.handle, p.id
	union all
	select id, {sought}, handle, coalesce(distance, 0), whence, if(op = 'lseek', result, -1)
	from on_handle join asked on asked.call = id
	where kind = 'seek' and handle is not null and error = 0 and op not in ('ftell', 'ftello', 'fgetpos', 'ungetc', 'ungetwc')
		and whence between 0 and 4
	union all
	select id, if(error <> 0, {tried}, if(way = 'free', {unlocked}, {locked})), handle, (way = 'shared')::int, -1, -1
	from locked where way is not null and (error = 0 or tries)
	union all
	select created, {created}, handle, -1, -1, -1 from handle where created is not null
	union all
	select ended, {ended}, handle, -1, -1, -1 from handle where ended is not null
	union all
	select from_call, {serving}, -1, min(to_call)::bigint, -1, -1 from links where kind = 'serves' and to_call is not null group by from_call
	union all
	select c.id, {collective}, g.communicator, n.number, coalesce(r.value, -1), greatest(coalesce(c.bytes, 0), 0)
	from picked as c join objects as o using (object) join communicator as g on g.group_hash = o.group_hash
		join collective_op as n on n.op = regexp_replace(c.op, '_c$', '')
		join speaker as m on m.stream = c.stream
		left join args as r on r.call = c.id and r.name = 'root'
	where c.layer = 'mpi'
	union all
	select id, {sent}, partner, communicator, tag, greatest(coalesce(bytes, 0), 0)
	from message where op not like 'MPI_Recv%' and partner >= 0 and tag >= 0
	union all
	select id, {received}, coalesce("from", partner), communicator, coalesce(from_tag, tag), greatest(coalesce(arrived, bytes, 0), 0)
	from message where regexp_matches(op, '[Rr]ecv') and coalesce("from", partner) >= 0 and coalesce(from_tag, tag) >= 0
),
extras as (
	select id, list({'what': what, 'on': handle, 'a': a, 'b': b, 'c': c} order by what, if(what = {ended}, -handle, handle)) as extras,
		bool_or(what = {collective}) as together
	from extra group by id
)
select c.stream, c.id, coalesce(c.parent::bigint, -1) as parent, c.start + {shift} as start, c.start + c.duration + {shift} as stop,
	if(c.chosen, r.region, -1) as region, coalesce(c.handle, -1) as handle,
	case
		when not c.chosen then -1
		when e.together then {collective}
		when c.handle is null or c.layer = 'aio' and {beside} then -1
		when c.kind in ('read', 'write', 'sync', 'post') then
			case {direction} when 'read' then 0 when 'write' then 1 else 2 end + if(c.collective is not null or coalesce(w.collective, false) or a.value = 1, 4, 0) + if(c.kind = 'post', 8, 0)
		else -1
	end as action,
	coalesce(c.size, -1) as size, if(c.error = 0, coalesce(c.bytes, -1), -1) as bytes, coalesce(c.file_offset, -1) as file_offset,
	coalesce(c.site, -1) as site, c.error, if(c.chosen, e.extras, null) as extras
from on_handle as c left join region as r using (layer, op, kind) left join ops as w using (layer, op, kind)
	left join args as a on a.call = c.id and a.name = 'collective'
	left join extras as e using (id)
where {streams}
order by c.stream, c.start, c.id
