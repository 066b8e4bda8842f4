-- What an access costs: shared/store.sql, and where that has learnt nothing (all accesses of one size) the mean, all of it as cost
-- of bytes: then what fewer accesses would win is not counted. Columns: file, kind, latency, per_byte (seconds), half (bytes).
with mean as (
	select p.directory, a.kind, exp(sum(a.log_time) / sum(a.n)) / 1e9 / (sum(a.bytes) / sum(a.n)) as per_byte
	from {accesses} as a join {places} as p using (file)
	where a.layer = 'posix'
	group by p.directory, a.kind
)
select p.file, m.kind, coalesce(s.latency, 0) as latency, coalesce(s.per_byte, m.per_byte) as per_byte, s.half
from {places} as p join mean as m using (directory) left join {store} as s on s.file = p.file and s.kind = m.kind
