-- The same of each lane, whichever the files.
with {lane},
{file_calls},
{sums}
select
	lane, case when rank is null then 'pid ' || pid else 'rank ' || rank end as label, calls::bigint as calls, bytes_read::hugeint as "bytes read",
	bytes_written::hugeint as "bytes written", coalesce(time, 0)::hugeint as time
from sums join lane using (process)
order by time desc, lane
