-- Blocks or stripes in which writes of several processes begin or end: each of them has to be locked and called back.
-- Columns: file, piece (number of the block in the file).
with several as (
	select file from counters where layer = 'posix' and kind = 'write' and file is not null group by file having count(distinct process) > 1
),
edge as (
	select c.process, c.file, unnest([c.file_offset, c.file_offset + c.bytes]) as byte, p.block
	from calls as c join several using (file) join {places} as p using (file)
	where c.layer = 'posix' and c.kind = 'write' and c.bytes > 0 and c.error = 0 and c.file_offset is not null
)
select file, byte // block as piece
from edge
where byte % block <> 0
group by file, piece
having min(process) <> max(process)
