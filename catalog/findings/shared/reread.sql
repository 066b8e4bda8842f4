-- Reads, by the very bytes they asked for: how often each process read them. Of files in which somebody went back or that several
-- processes read, and that nobody writes once reading began (what is read then may be new); of more than 2 million such reads a part of the places, by a hash of the offset, stands for all
-- (`scale`). Columns: process, file, file_offset, bytes, n, time (ns, of all n), worst (a `calls.id`), longest (ns), scale.
with candidate as (
	select file, sum(n) filter (kind = 'read') as n
	from {accesses}
	where stream is not null and layer = 'posix'
	group by file
	having (
			sum(n) filter (kind = 'read' and place = 'back') > 0
			or sum(bytes) filter (kind = 'read') > max(highest) filter (kind = 'read') - min(lowest) filter (kind = 'read')
			or count(distinct process) filter (kind = 'read') > 1
		)
		and coalesce(max(last) filter (kind = 'write') <= min(first) filter (kind = 'read'), true)
),
part as (
	select greatest(1, ceil(sum(n) / 2e6))::bigint as scale from candidate
)
select
	c.process, c.file, c.file_offset, c.bytes, count(*) as n, sum(c.duration)::hugeint as time, arg_max(c.id, c.duration) as worst,
	max(c.duration) as longest, any_value(part.scale) as scale
from calls as c, part
where c.kind = 'read' and c.layer = 'posix' and c.bytes > 0 and c.error = 0 and c.file_offset is not null
	and c.file in (select file from candidate) and hash(c.file_offset) % part.scale = 0
group by c.process, c.file, c.file_offset, c.bytes
