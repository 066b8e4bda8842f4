-- Reads and writes of MPI-IO, and what the system calls below each did. Times in ns. Left out, since nothing can be better about the
-- way they are made and there may be millions: independent ones of one stretch of the file, unless below a call of netCDF.
-- Columns: id, parent, process, rank, file, object, kind, collective (its number, null: independent), start, duration, size (bytes
-- asked), first, span (bytes of the file from the first to the last that were asked; null: not known), pieces (of the file that
-- size is in; null: not known), moves (system calls of the same kind), moved (their bytes), other, other_moved (the same of reads
-- below a write), io (time of all these), locks, locking (calls and time of file locks), lowest, highest (bytes of the file they touched).
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
		coalesce(sum(b.duration) filter (b.kind in ('read', 'write')), 0)::hugeint as io,
		count(*) filter (b.op = 'fcntl') as locks,
		coalesce(sum(b.duration) filter (b.op = 'fcntl'), 0)::hugeint as locking,
		min(b.file_offset) filter (b.kind in ('read', 'write')) as lowest,
		max(b.file_offset + b.bytes) filter (b.kind in ('read', 'write')) as highest
	from calls as b join data as d on b.parent = d.id
	where b.layer = 'posix' and (b.kind in ('read', 'write') and b.file is not distinct from d.file or b.op = 'fcntl')
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
from data as d left join below as b using (id) left join selections as s on s.selection = d.selection
