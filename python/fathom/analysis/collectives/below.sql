-- System calls on its file below each rank's part of a collective one. `main`: in the direction of the call; what a write reads is
-- there to be written back with new bytes in it. `early`: of its time, what passed before the last rank came.
select
	p.collective, p.process, p.rank, s.kind, s.kind = p.kind as main, s.id, s.file_offset, s.bytes, s.duration,
	greatest(least(s.start + s.duration, p.last_enter) - s.start, 0) as early
from parts as p join calls as s on s.parent = p.id and s.file = p.file
where s.layer = 'posix' and s.kind in ('read', 'write') and s.error = 0 and s.bytes > 0
