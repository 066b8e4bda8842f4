-- Calls of the processes that did the program's I/O, thread by thread merged in the order of time; those around a call come before it.
select c.id, c.process, c.stream, c.parent, c.layer, c.op, c.kind, c.object, c.start, c.start + c.duration as stop, c.size, c.file_offset, c.bytes,
	c.result, c.error, c.state, c.selection::bigint as selection
from calls c
where c.process in (select unnest($processes)) and c.layer in (select unnest($layers))
order by c.process, c.start, c.depth
