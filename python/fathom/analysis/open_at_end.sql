-- Calls that were open when their process ended, whatever ended it; of a call that was left by longjmp, or whose thread ended, more than a tenth
-- of its own time went by until then. One row per call: id, process, rank, stream, depth, layer, op, file, object, collective, start, stop, killed.
select
	c.id, c.process, p.rank, c.stream, c.depth, c.layer, c.op, c.file, c.object, c.collective, c.site, c.start, c.start + c.duration as stop,
	p.ended = 'killed' as killed
from calls as c join processes as p using (process)
where c.state = 'unfinished' and c.layer <> 'fathom' and c.start + c.duration + c.duration // 10 >= p.stop
