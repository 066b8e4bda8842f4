-- Reads, by the very bytes they asked for: how often each process read them. Of files in which somebody went back, opened them anew or
-- shares them with others; of more than 2 million such reads a part of the places, by a hash of the offset, stands for all
-- (`scale`). Columns: process, file, file_offset, bytes, n, time (ns, of all n), worst (a `calls.id`), longest (ns), scale.
with candidate as (
	select file, sum(n) as n
	from {accesses}
	where kind = 'read' and stream is not null and layer = 'posix'
	group by file
	having sum(n) filter (place = 'back') > 0 or sum(bytes) > max(highest) - min(lowest) or count(distinct process) > 1
),
part as (
	select greatest(1, ceil(sum(n) / 2e6))::bigint as scale from candidate
)
select
	c.process, c.file, c.file_offset, c.bytes, count(*) as n, sum(c.duration)::bigint as time, arg_max(c.id, c.duration) as worst,
	max(c.duration) as longest, any_value(part.scale) as scale
from calls as c, part
where c.kind = 'read' and c.layer = 'posix' and c.bytes > 0 and c.error = 0 and c.file_offset is not null
	and c.file in (select file from candidate) and hash(c.file_offset) % part.scale = 0
group by c.process, c.file, c.file_offset, c.bytes
