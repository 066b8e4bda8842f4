-- title:  Calls that fail
-- layer:  posix
-- limit:  data that could not be read, written, synced or closed is a danger at the first call. Other calls (a file that is not there, a
--   name that is taken) are how programs look for things: those count by their time, from 16 on. What only says "not now" is left out.
-- says:   {op} of {path} failed {n:count} times: {reason}; {seconds:seconds} of the slowest process
-- lost:   time in failed calls of the slowest process; null where data are at stake
-- sure:   0.9
-- fix:    {todo}
-- seen:   users of strace and Recorder, who search for them by hand
with reason(error, reason) as (
	values (1, 'operation not permitted'), (2, 'no such file'), (5, 'input/output error'), (9, 'bad descriptor'), (12, 'out of memory'),
		(13, 'permission denied'), (17, 'it exists'), (20, 'not a directory'), (21, 'is a directory'), (22, 'invalid argument'),
		(23, 'too many open files in the system'), (24, 'too many open files'), (26, 'text file busy'), (27, 'file too large'),
		(28, 'no space left'), (29, 'not seekable'), (30, 'read-only file system'), (36, 'name too long'), (39, 'directory not empty'),
		(40, 'too many symbolic links'), (116, 'stale file handle'), (121, 'remote I/O error'), (122, 'quota exceeded')
),
-- Modules of MPI and of what it starts ranks and passes messages by, often in threads of its own: a call from there is no call of MPI's
-- that the program made (of such a call the site is the program's).
wire as (
	select site from sites where regexp_matches(module, '/(lib(mpi|open-|pmi|prrte|event|hwloc|uc[mpst]|fabric|psm|ibverbs|rdmacm)|mca_|pmix_)[^/]*$')
),
failed as (
	select
		c.process, c.op, c.error,
		c.kind in ('read', 'write', 'sync', 'close') and c.layer in ('posix', 'stdio', 'aio') as data,
		coalesce(p.place, nullif(regexp_replace(o.name, '[0-9]+', '*', 'g'), ''), 'an unknown file') as path,
		count(*) as n, sum(c.duration) / 1e9 as seconds, max_by(c.id, c.duration, 8) as worst, max(c.duration) as longest
	from (select *, {outermost_call} as is_own from calls where error <> 0) as c
		left join {places} as p using (file) left join objects as o using (object)
	where c.layer in ('posix', 'stdio', 'aio') and c.kind <> 'comm'
		-- not now: EINTR, EAGAIN, EINPROGRESS, ETIMEDOUT; asked of what has no such thing: ESPIPE, ENOTTY, ENODATA, EOPNOTSUPP
		and c.error not in (4, 11, 115, 110, 29, 25, 61, 95)
		-- To open a file, ROMIO reads its file of hints, whether that could be opened or not.
		and (p.file is not null or c.file is null and coalesce(c.site not in (from wire), true)
			and coalesce(c.parent not in (select id from calls where kind = 'open'), true))
		-- What a library looks for is its own affair, unless data are lost; what MPI does when it starts and ends is no I/O of the program's.
		and (c.is_own or data and c.parent not in (select id from calls where kind = 'comm'))
	group by all
),
process as (
	select
		process, op, error, data, if(count(distinct path) = 1, any_value(path), any_value(regexp_extract(path, '^(.*/)[^/]*$', 1)) || '…') as path,
		sum(n) as n, sum(seconds) as seconds, flatten(max_by(worst, longest, 8)) as worst, max(longest) as longest
	from failed
	group by process, op, error, data, if(data, path, regexp_extract(path, '^(.*/)[^/]*$', 1))
)
select
	op,
	path,
	sum(n)::bigint as n,
	coalesce(any_value(r.reason), format('error {}', error)) as reason,
	max(seconds) as seconds,
	if(
		data, 'look at what the call returned, and stop: what follows works on data that is not there',
		'remember what was found once; put first in the search path what is found there'
	) as todo,
	flatten(max_by(worst, longest, 8)) as calls,
	if(data, null, max(seconds)) as lost
from process left join reason as r using (error)
group by op, path, error, data
having data or sum(n) >= 16
