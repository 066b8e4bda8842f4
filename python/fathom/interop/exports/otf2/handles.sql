-- The I/O handles that selected calls were made on, and those above them: what was open, once per paradigm that used it, as a FILE * and its
-- descriptor. `parent` is the handle that it was made for: a dataset's file; else that of the nearest call around its opening on the same
-- file, as the MPI-IO handle for which ROMIO opens a descriptor. Parents have lower numbers, as readers want them. `created`, `ended`: the
-- calls that did so, of all threads; null: none, or one that is not selected.
with recursive {spoken},
holding as (
	select o.*, f.path, f.kind as file_kind from objects as o left join files as f using (file)
	where class not in ('mapping', 'request', 'communicator', 'queue', 'unknown', 'named')
),
used as (
	select c.object, coalesce(s.paradigm, c.layer) as paradigm, bool_or({where}) as chosen,
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
	left join (select id from calls where {where}) as k on k.id = n.created
	left join args as a on a.call = n.created and a.name in ('flags', 'amode', 'mode_flags')
