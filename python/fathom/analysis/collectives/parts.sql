-- Each rank's call of every collective read or write of MPI-IO: `waited` is what passed before the last rank came.
select
	c.collective, c.id, c.process, c.rank, c.kind, c.file, c.duration,
	greatest(coalesce(c.bytes, 0), 0) as bytes,
	least(greatest(o.last_enter - c.start, 0), c.duration) as waited,
	o.last_enter
from calls as c join collectives as o using (collective)
where c.layer = 'mpiio' and o.layer = 'mpiio' and c.kind in ('read', 'write')
