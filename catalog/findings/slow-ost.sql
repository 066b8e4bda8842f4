-- title:  One OST of striped files is slower than their others
-- layer:  server
-- limit:  of files on several OSTs, accesses that lie in one stripe. Those on one OST take twice as long (median) as the same process's on the others,
--   of the same direction and size. 16 at least, by processes that were on several OSTs, else it might be the process. Layouts whose parts
--   differ are left out: nobody knows there which OST an access went to
-- says:   {server}: {n:count} accesses took {each:seconds} each, those of the same processes on the other {osts:count} OSTs of {file_count}
--   {other:seconds} (medians)
-- lost:   of the process that lost most, its accesses there less what as many take on the median OST
-- sure:   0.7
-- fix:    leave it out, for the directory before files are made: `lfs setstripe -o` with the numbers of other OSTs, or `lfs setstripe -p POOL`, a pool
--   without it. Tell the centre
-- causes: contention, requests, unexplained, transfer, sync, needless, locks
-- when:   exists (from hints_in_force where key = 'osts' and contains(value, ','))
-- seen:   Islam, Mueller et al.: OST stragglers; Lustre manual, striping: stripe n of a file lies on the OST n modulo the count
with layout as (
	select
		file, string_split(max(value) filter (key = 'osts'), ',') as osts, try_cast(max(value) filter (key = 'striping_unit') as bigint) as unit
	from hints_in_force
	where file is not null and source = 'in force' and key in ('osts', 'striping_unit', 'striping_factor', 'components')
	group by file
	having len(osts) > 1 and unit > 0 and count(*) filter (key = 'components') = 0
		and coalesce(try_cast(max(value) filter (key = 'striping_factor') as bigint), len(osts)) = len(osts)
),
access as (
	select
		c.id, c.process, c.file, c.kind, c.duration, coalesce(f.mount, '') as mount, floor(log2(c.bytes))::int as bin,
		osts[1 + (c.file_offset // unit) % len(osts)] as ost
	from calls as c join layout as l using (file) join files as f using (file)
	where c.layer = 'posix' and c.kind in ('read', 'write') and c.bytes > 0 and c.error = 0 and c.file_offset is not null
		and c.file_offset // unit = (c.file_offset + c.bytes - 1) // unit
),
each as (
	select
		mount, ost, process, kind, bin, count(*) as n, median(duration) / 1e9 as each, max_by(id, duration, 8) as calls, list(distinct file) as files
	from access
	group by all
),
beside as (
	select
		*, count(*) over others as osts,
		if(osts = 2, min(each) over others, median(each) over others) as usual
	from each
	window others as (partition by mount, process, kind, bin)
),
of_process as (
	select
		mount, ost, process, sum(n) as n, max(osts) - 1 as osts, sum(n * each) as seconds, sum(n * usual) as expected,
		flatten(list(calls order by n * each desc)) as calls, flatten(list(files)) as files
	from beside
	where osts > 1
	group by all
)
select
	'OST ' || ost || if((select count(distinct a.mount) from access as a) > 1, ' of ' || mount, '') as server,
	sum(n)::hugeint as n,
	max(osts) as osts,
	list_distinct(flatten(list(files))) as cell_files,
	if(len(cell_files) = 1, 'a file', format('{} files', len(cell_files))) as file_count,
	sum(seconds) / sum(n) as each,
	sum(expected) / sum(n) as other,
	list_slice(arg_max(calls, seconds), 1, 8) as calls,
	max(seconds - expected) as lost
from of_process
group by mount, ost
having sum(n) >= 16 and sum(seconds) >= 2 * sum(expected)
