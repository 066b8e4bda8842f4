-- title:  Calls that fail
-- layer:  posix
-- limit:  data that could not be read, written, synced or closed: a danger at the first call. Other failed calls count by their
--   time, from 16 on: programs look for files so. What only says "not now" is left out. Of libraries only data count, where no
--   system call inside failed
-- says:   {op} of {path} failed {times}: {reason}; {seconds:seconds} of the slowest process
-- lost:   time in failed calls of the slowest process; null where data are at stake. No cause of the account: calls of all causes fail
-- sure:   0.9
-- fix:    {todo}
-- when:   exists (from calls where error <> 0 and kind in ('read', 'write', 'sync', 'close')) or (select count(*) from calls where error <> 0) >= 16
-- seen:   users of strace and Recorder, who search for them by hand
with reason (error, reason) as (
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
broken as (
	select distinct own from calls where error <> 0 and own is not null and is_system(layer) and kind in ('read', 'write', 'sync', 'close')
),
failed as materialized (
	select
		c.id, c.process, c.thread, c.start, c.op, c.kind, c.file, c.parent, c.object, c.duration, c.is_own, is_system(c.layer) as of_system,
		-- The last 7 bits of an error of MPICH are its class; the others are another number for each call.
		if(c.layer in ('mpiio', 'pnetcdf') and c.error > 128, c.error % 128, c.error) as error,
		c.kind in ('read', 'write', 'sync', 'close') as data, p.file as known, p.place
	from (select *, is_outermost_call(depth, parent) as is_own from calls where error <> 0) as c left join places() as p using (file)
	-- close_range() names no file; it fails where there is nothing to close, as CPython asks when it starts a process.
	where c.kind <> 'comm' and c.op <> 'close_range'
		-- What the kernel may refuse to copy for these two files (another file system, O_APPEND, a pipe too few) a program then reads and writes.
		and not (c.op in ('copy_file_range', 'sendfile', 'splice', 'tee') and c.error in (1, 9, 18, 22, 26, 38))
		and if(
			of_system,
			-- not now: EINTR, EAGAIN, EINPROGRESS, ETIMEDOUT; asked of what has no such thing: ESPIPE, ENOTTY, ENODATA, EOPNOTSUPP
			c.error not in (4, 11, 115, 110, 29, 25, 61, 95),
			-- Tools close what they may not have opened.
			is_library(c.layer) and data and (c.kind <> 'close' or c.file is not null) and c.is_own and c.id not in (from broken)
		)
		and (p.file is not null or c.file is null and coalesce(c.site not in (from wire), true))
		-- What a library looks for is its own affair, unless data are lost.
		and (c.is_own or data)
),
-- Calls on no descriptor: what the last open of their thread asked for that failed before them.
unopened as (
	select f.id, p.path, ', after an open of it that failed: ' || r.reason as why
	from failed as f
	asof join (select process, thread, start, file, error from calls where kind = 'open' and error <> 0 and is_system(layer)) as o
		on f.process = o.process and f.thread = o.thread and f.start >= o.start
	join files as p on p.file = o.file
	join reason as r on r.error = o.error
	where f.error = 9 and f.data and f.file is null and f.object is null
),
caller as (
	select id as parent, kind as within from calls where kind in ('open', 'comm') and id in (select parent from failed)
),
alike as (
	select
		f.process, f.op, f.error, f.data, f.of_system,
		coalesce(f.place, nullif(starred(o.name), ''), u.path, 'an unknown file') as path, coalesce(u.why, '') as why,
		count(*) as n, sum(f.duration) / 1e9 as seconds, max_by(f.id, f.duration, 8) as worst, max(f.duration) as longest
	from failed as f left join caller as c using (parent) left join objects as o using (object) left join unopened as u using (id)
	-- To open a file, ROMIO reads its file of hints, whether that could be opened or not.
	where (f.known is not null or c.within is distinct from 'open')
		-- What MPI does when it starts and ends is no I/O of the program's.
		and (f.is_own or c.within is distinct from 'comm')
		-- What was not opened is closed in vain: what is read and written says it.
		and not (f.kind = 'close' and u.id is not null)
	group by all
),
process as (
	select
		process, op, error, data, of_system, why, if(count(distinct path) = 1, any_value(path), any_value(regexp_extract(path, '^(.*/)[^/]*$', 1)) || '…') as path,
		sum(n) as n, sum(seconds) as seconds, flatten(max_by(worst, longest, 8)) as worst, max(longest) as longest
	from alike
	group by process, op, error, data, of_system, why, if(data, path, regexp_extract(path, '^(.*/)[^/]*$', 1))
)
select
	op,
	path,
	if(sum(n) = 1, 'once', format('{:,} times', sum(n)::bigint)) as times,
	if(of_system, coalesce(any_value(r.reason), format('error {}', error)) || why, format('the library says so (its error {})', error)) as reason,
	max(seconds) as seconds,
	if(
		data, 'look at what the call returned, and stop: what follows works on data that is not there',
		'remember what was found once; put first in the search path what is found there'
	) as todo,
	flatten(max_by(worst, longest, 8)) as calls,
	if(data, null, max(seconds)) as lost
from process left join reason as r using (error)
group by op, path, error, data, of_system, why
having data or sum(n) >= 16
