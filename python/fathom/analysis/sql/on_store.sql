-- What a run's requests would take on another store, by the figures of catalog/stores: `fathom show --on`. What libraries do in memory, and
-- communication, are not priced.

-- The names of calls of POSIX, streams and asynchronous I/O as stores price them; null: they cost a store nothing. `metadata` of a log of
-- Darshan is time without a number of calls.
create or replace macro on_what(layer, kind, op) as
case
	when direction(kind, op) is not null then direction(kind, op)
	-- What is flushed to the kernel is one more write, no sync.
	when kind = 'sync' and layer = 'stdio' then 'write'
	when kind = 'sync' or op in ('aio_fsync', 'post_sync') then 'sync'
	when op in ('fcntl', 'flock', 'lockf') then 'lock'
	when op in ('pipe', 'pipe2', 'memfd_create', 'fdopen', 'popen') then null
	when kind = 'open' and regexp_matches(op, '^(creat|mks?o?s?temps?|mkostemps?|tmpfile)$') then 'create'
	when kind = 'open' or op in ('opendir', 'scandir', 'scandir64', 'scandirat', 'scandirat64') then 'open'
	when kind = 'close' then 'close'
	when regexp_matches(op, '^(l|f)?stat|^(eu)?id?access|access|^readlink|^realpath|^[lf]?(get|list)xattr|^name_to_handle') then 'stat'
	when regexp_matches(op, 'unlink|^rmdir|^remove$') then 'remove'
	when regexp_matches(op, '^mkdir|^mkdtemp|^rename|^link|^symlink|^mknod|^mkfifo') then 'change'
	when regexp_matches(op, 'truncate|fallocate|chmod|chown|utim|[lf]?(set|remove)xattr') then 'attribute'
end;

-- Requests of each process and file that reach the storage, from counters: whatever the level, and of imports. Columns: process, node, file (-1:
-- not known), place, what (on_what(); `create`: an open that may make the file), n, bytes, cached (of n: the client's memory serves
-- them), served (they go to the server; the others: one or the other), syncs (of this process and file), writers (processes that write
-- the file). Reads are cached where they follow the one before, or may be where they lie behind it or the
-- process wrote the file; a write goes to the server where a sync follows. A stream of C asks for its buffer, 4,096 bytes.
create or replace macro on_requests() as table
with each as (
	select
		c.process, coalesce(c.file, -1)::bigint as file, coalesce(l.place, f.path, 'files that are not known by name') as place, c.layer, c.op,
		on_what(c.layer, c.kind, c.op) as what, c.calls, c.errors, c.first_start, coalesce(c.bytes, 0)::double as bytes, c.sequential, c.consecutive,
		if(is_beside(c.layer, c.op), 0, greatest(0, c.calls::double - c.errors)) as done
	from counters as c left join files as f using (file) left join places() as l using (file)
	where is_storage_access(c.layer, c.enclosing_layer, c.enclosing) and is_file(f.kind, f.path, f.file_system)
		and coalesce(f.kind, '') not in ('character', 'block') and coalesce(f.path, '') not like '<STD%'
		and not (coalesce(f.kind, '') = 'unknown' and coalesce(f.path, '') like '/dev/%')
),
-- What failed was looked for.
performed as (
	select process, file, place, layer, what, first_start, bytes, sequential, consecutive,
		case when layer = 'stdio' and what in ('read', 'write') and bytes > 0 then least(done, ceil(bytes / 4096)) else done end as n
	from each
	where what is not null
	union all
	select process, file, place, layer, 'stat', first_start, 0, null, null, errors
	from each
	where what in ('open', 'create', 'stat', 'remove', 'change') and errors > 0
	union all
	-- A write to a file that is open with O_SYNC is followed by a sync.
	select process, file, place, layer, 'sync', first_start, 0, null, null, done
	from each
	where what = 'write' and done > 0 and file in (from synced_by_open())
),
written as (
	select file, count(distinct process) as writers from performed where what = 'write' and file >= 0 and bytes > 0 group by file
),
own as (
	select
		process, file, coalesce(sum(n) filter (what = 'sync'), 0) as syncs, coalesce(sum(bytes) filter (what = 'write'), 0) > 0 as writes
	from performed
	group by process, file
),
-- Who opened a file first may have made it.
maker as (
	select file, arg_min(process, (first_start, process)) as process from performed where what = 'open' and file >= 0 and n > 0 group by file
),
summed as (
	select
		t.process, t.file, any_value(t.place) as place, t.what, sum(t.n) as n, sum(t.bytes) as bytes,
		sum(case
			when t.layer in ('dfs', 'daos') then 0
			when t.what = 'write' or t.layer = 'stdio' then t.n
			else coalesce(least(t.consecutive, t.n), 0)
		end) as cached,
		sum(case
			when t.layer in ('dfs', 'daos') then t.n
			when t.what = 'read' and t.layer <> 'stdio' and not o.writes then coalesce(greatest(0, t.n - t.sequential), 0)
			else 0
		end) as served,
		any_value(o.syncs) as syncs, any_value(o.writes) as writes
	from performed as t join own as o using (process, file)
	group by t.process, t.file, t.what
),
-- A sync sends what was written before it: a request at least for each.
sent as (
	select * replace (
			if(what = 'write', greatest(0, cached - least(n, syncs)), cached) as cached,
			if(what = 'write', greatest(served, least(n, syncs)), served) as served
		)
	from summed
),
with_creates as (
	select s.*, if(s.what = 'open' and s.writes, case when s.file < 0 then n when m.file is not null and w.file is not null then 1 else 0 end, 0) as makes
	from sent as s left join maker as m using (process, file) left join written as w using (file)
)
select
	process, p.node, file, place, what, n, bytes, cached, served, syncs, coalesce(w.writers, if(file < 0, 1, 0)) as writers
from (
	select * exclude (makes, writes) replace (n - makes as n) from with_creates
	union all
	select * exclude (makes, writes) replace ('create' as what, makes as n) from with_creates where makes > 0
) left join written as w using (file) join processes as p using (process)
where n > 0 or bytes > 0;

-- On how many servers each file is there, and in pieces of how many bytes: the run's own where it ran on that store, else what is usual on it.
create or replace macro on_layouts(of_store) as table
with placed as (
	select file, count(*) as osts from file_stripes() group by file
),
own as (
	select file, coalesce(l.stripes, p.osts) as stripes, l.stripe_bytes from file_layouts() as l left join placed as p using (file)
),
store as (
	select any_value(stripe_count) as stripes, any_value(stripe_bytes) as stripe_bytes, any_value(lock_unit) as lock_unit from stores() where store = of_store
)
select
	f.file::bigint as file,
	coalesce(if(store_of(f.file_system) = of_store, own.stripes, null), s.stripes) as stripes,
	coalesce(if(store_of(f.file_system) = of_store, own.stripe_bytes, null), s.stripe_bytes, s.lock_unit) as stripe_bytes,
	s.lock_unit
from (select file, file_system from files union all select -1, null) as f left join own using (file), store as s;

-- Writes for which a lock has to be called back from another process there. At the least: each that begins or ends in a lock unit that another
-- process wrote last. At the most: each in a stripe that others write too. Where the calls are not there (`known` is false), an
-- estimate: each run of bytes written in order meets others at its two ends; runs shorter than a stripe with each of their writes.
-- Columns: process, file, known, least, most.
create or replace macro on_conflicts(of_store) as table
with several as materialized (
	select r.file, l.stripe_bytes, l.lock_unit
	from on_requests() as r join on_layouts(of_store) as l using (file)
	where r.what = 'write' and r.file >= 0 and r.writers > 1 and l.lock_unit is not null
	group by all
),
counted as (
	select
		c.process, c.file::bigint as file, sum(c.calls::double - c.errors) as n, sum(c.recorded) as recorded, sum(c.bytes)::double as bytes,
		sum(coalesce(c.consecutive, 0)) as consecutive, sum(coalesce(c.unaligned_file, c.calls)) as unaligned
	from counters as c semi join several using (file)
	where c.kind = 'write' and is_storage_access(c.layer, c.enclosing_layer, c.enclosing) and c.calls > c.errors
	group by all
),
in_full as (
	select file from counted group by file having sum(recorded) >= sum(n)
),
edge as (
	select
		c.id, c.process, c.file::bigint as file, c.start, unnest([c.file_offset, c.file_offset + c.bytes - 1]) as byte,
		s.stripe_bytes, s.lock_unit
	from calls as c join several as s using (file) semi join in_full using (file)
	where c.kind = 'write' and c.layer in ('posix', 'aio') and c.bytes > 0 and c.error = 0 and c.file_offset is not null
),
turn as (
	select process, file, id, lag(process) over (partition by file, byte // lock_unit order by start, id) as before from edge
),
called_back as (
	select process, file, count(distinct id) as n from turn where before <> process group by all
),
stripe as (
	select file, byte // stripe_bytes as stripe from edge group by all having min(process) <> max(process)
),
shared_stripes as (
	select e.process, e.file, count(distinct e.id) as n, count(distinct e.byte // e.stripe_bytes) as stripes
	from edge as e join stripe as s on s.file = e.file and s.stripe = e.byte // e.stripe_bytes
	group by all
),
guessed as (
	select
		*, greatest(1, n - consecutive) as runs, bytes / greatest(1, n - consecutive) as length,
		case
			-- Whole stripes.
			when unaligned = 0 and length >= stripe_bytes and length % stripe_bytes = 0 then 0
			when length >= stripe_bytes then least(n, 2 * runs)
			else n
		end as most
	from counted join several using (file)
	where file not in (from in_full)
)
select process, file, true as known, greatest(coalesce(c.n, 0), 1)::double as least, greatest(n.n, coalesce(c.n, 0))::double as most
from shared_stripes as n left join called_back as c using (process, file)
union all
select process, file, false, 1, most from guessed where most > 0;

-- What requests take on a store, by cause. Names of rows: `requests_of` those of on_requests(), `conflicts_of` those of on_conflicts(). The low
-- end: nobody is in the way. The high end: requests of processes to the same server wait for each other, each for as many of the
-- others' as it has itself; names at one server of metadata, syncs and locks at those of their file. Best: the geometric mean.
-- Columns: process, file, place, cause (requests, transfer, contention, names, sync, locks), what, n, waits (of n: for a server), bytes, low, best,
-- high (seconds).
create or replace macro on_cells(of_store, requests_of, conflicts_of) as table
with store as materialized (
	select * from stores() where store = of_store
),
one as (
	select * from store where direction = 'write'
),
request as materialized (
	select
		r.*, greatest(1, coalesce(l.stripes, 1)) as stripes, l.stripes is not null as striped,
		-- Where nobody knows what a lock covers, writers of one file do without the client's memory.
		one.kind = 'network' and one.lock_unit is null and r.writers > 1 and r.what = 'write' as uncached
	from query_table(requests_of) as r join on_layouts(of_store) as l using (file), one
),
-- Where servers take requests in turn: for each of one's own, how many pass until it is done, of every other process at most as many as one's own.
asked as (
	select
		process, what, if(one.kind = 'network' and what not in ('read', 'write', 'sync', 'lock', 'close'), null, file) as line, sum(n) as n
	from request, one
	group by all
),
turns as (
	select
		*,
		(sum(n) over (partition by line, what order by n) + n * (count(*) over (partition by line, what) - count(*) over (partition by line, what order by n)))
			/ nullif(n, 0) as each
	from asked
),
data as (
	select
		r.*, n - cached - served as either,
		if(uncached, 0, cached) as c, if(uncached, n, served) as s,
		s.cached_low, s.cached_high, s.server_low, s.server_high, 1 / s.rate_high as byte_low, 1 / s.rate_low as byte_high
	from request as r join store as s on s.direction = r.what
),
-- Whose servers or devices all bytes pass: a file's stripes, a node's device, the one server of NFS. Of others nobody knows how many there are.
shared as (
	select
		process, what, bytes,
		case when one.kind = 'local' then 'node ' || node when striped then 'file ' || file when one.kind = 'network' then 'all' end as line,
		one.kind = 'local' or striped or one.store = 'nfs' as known,
		if(striped and one.kind = 'network', stripes, 1) as servers,
		bytes * byte_low as low, bytes * sqrt(byte_low * byte_high) as best, bytes * byte_high as high, file, place
	from data, one
	where bytes > 0
),
mover as (
	select
		process, what, line, any_value(known) as known, any_value(servers) as servers, sum(bytes) as bytes, sum(low) as low, sum(best) as best,
		sum(high) as high
	from shared
	where line is not null
	group by all
),
queue as (
	select
		m.*,
		(sum(bytes) over up_to + bytes * (count(*) over (partition by line, what) - count(*) over up_to)) / servers as passed
	from mover as m
	window up_to as (partition by line, what order by bytes)
),
lock_waiting as (
	select
		q.process, q.what, q.line, q.bytes,
		if(known, greatest(0, passed / s.server_rate_high - q.low), 0) as low,
		if(known, greatest(0, passed / sqrt(s.server_rate_low * s.server_rate_high) - q.best), 0) as best,
		greatest(0, passed / s.server_rate_low - q.high) as high
	from queue as q join store as s on s.direction = q.what
	where s.server_rate_low is not null
),
-- Calls that move no data: the ends of what one costs.
priced as (
	select
		r.process, r.file, r.place, r.what, r.n, r.stripes,
		case
			when r.what = 'close' then if(one.store = 'nfs' and r.writers > 0, one.stat_low, null)
			when r.what = 'sync' then one.sync_low
			when r.what in ('open', 'create') then one.open_low
			when r.what = 'remove' then one.remove_low
			when r.what = 'change' then least(one.create_low, one.remove_low)
			else one.stat_low
		end as low,
		case
			when r.what = 'close' then one.sync_high
			when r.what = 'sync' then one.sync_high
			when r.what = 'open' then one.open_high
			when r.what = 'create' then one.create_high
			when r.what = 'remove' then one.remove_high
			when r.what in ('change', 'attribute') then greatest(one.create_high, one.remove_high)
			when r.what = 'lock' and count(*) over (partition by r.file, r.what) > 1 then coalesce(one.lock_high, one.open_high)
			when r.what = 'lock' and one.kind = 'network' then one.open_high
			else one.stat_high
		end as high,
		if(one.kind = 'memory', r.n, r.n * t.each) as whole
	from request as r cross join one join turns as t on t.process = r.process and t.what = r.what and (t.line is null or t.line = r.file)
	where r.what not in ('read', 'write')
),
conflict as (
	select
		c.*, r.place, r.stripes,
		sum(c.most) over up_to + c.most * (count(*) over (partition by c.file) - count(*) over up_to) as whole
	from query_table(conflicts_of) as c join request as r on r.process = c.process and r.file = c.file and r.what = 'write'
	window up_to as (partition by c.file order by c.most)
),
cells as (
	select
		process, file, place, 'requests' as cause, what, n, if(server_low > cached_low, s, 0) as waits, bytes,
		(c + either) * cached_low + s * server_low as low,
		c * sqrt(cached_low * cached_high) + either * sqrt(cached_low * server_high) + s * sqrt(server_low * server_high) as best,
		c * cached_high + (either + s) * server_high as high
	from data
	union all
	select process, file, place, 'transfer', what, n, 0, bytes, bytes * byte_low, bytes * sqrt(byte_low * byte_high), bytes * byte_high from data
	union all
	select s.process, s.file, s.place, 'contention', s.what, 0, 0, s.bytes, k.low * share, k.best * share, k.high * share
	from (select *, bytes / sum(bytes) over (partition by process, what, line) as share from shared) as s join lock_waiting as k using (process, what, line)
	union all
	select
		process, file, place, case what when 'sync' then 'sync' when 'close' then 'sync' when 'lock' then 'locks' else 'names' end, what, n, n, 0,
		n * low, sqrt(n * low * greatest(n, whole / if(what in ('sync', 'lock', 'close'), stripes, 1)) * high),
		greatest(n, whole / if(what in ('sync', 'lock', 'close'), stripes, 1)) * high
	from priced
	where low is not null
	union all
	select
		process, file, place, 'locks', if(known, 'conflict', 'conflict guessed'), most, most, 0, least * lock_low,
		sqrt(least * lock_low * greatest(most, whole / stripes) * lock_high), greatest(most, whole / stripes) * lock_high
	from conflict, one
	where lock_low is not null
)
select
	process, file, place, cause, what, n::double as n, waits::double as waits, bytes::double as bytes, low::double as low, best::double as best,
	high::double as high
from cells
where high > 0;

-- Requests as they would be if each process gathered its accesses in pieces, as large as a stripe and a MiB at least. Reads that go back cannot be
-- joined. Rows as of on_requests(), here and in the next ones.
create or replace macro on_joined(of_store, requests_of) as table
with piece as (
	select greatest(1048576, least(16777216, coalesce(any_value(stripe_bytes), 0)))::double as piece from stores() where store = of_store
),
joined as (
	select
		r.*,
		if(what = 'read', served, 0) as alone,
		least(n - alone, ceil(bytes / n * (n - alone) / piece)) as pieces
	from query_table(requests_of) as r, piece
)
select * exclude (alone, pieces) replace (
		alone + pieces as n, if(what = 'write', least(served, pieces), served) as served,
		least(cached, pieces - if(what = 'write', least(served, pieces), 0)) as cached
	)
from joined
where what in ('read', 'write') and n > 1
union all by name
from query_table(requests_of) where what not in ('read', 'write') or n <= 1;

-- ... if a process that syncs a file 8 times or more, with at most 4 writes for each sync, did so once.
create or replace macro on_synced_once(requests_of) as table
with often as (
	select process, file
	from query_table(requests_of)
	group by process, file
	having max(n) filter (what = 'sync') >= 8 and max(n) filter (what = 'write') <= 4 * max(n) filter (what = 'sync')
)
select r.* replace (
		if(o.applies and what = 'sync', 1, n) as n,
		if(o.applies and what = 'write', n - least(1, served), cached) as cached,
		if(o.applies and what = 'write', least(1, served), served) as served
	)
from query_table(requests_of) as r left join (select *, true as applies from often) as o using (process, file);

-- ... if a process with 16 files or more of one place had one.
create or replace macro on_one_file(requests_of) as table
with many as (
	select process, place, count(distinct file) as files
	from query_table(requests_of)
	where what in ('open', 'create') and file >= 0
	group by process, place
	having files >= 16
)
select r.* replace (if(what in ('open', 'create', 'stat', 'remove', 'change', 'attribute', 'close'), n / coalesce(files, 1), n) as n)
from query_table(requests_of) as r left join many using (process, place);

-- ... if files that several ranks access by small independent calls of MPI-IO were accessed by collective ones, in pieces of 4 MiB.
create or replace macro on_gathered(requests_of) as table
with gathered as (
	select file, what, true as applies from small_independent()
)
select * exclude (applies) replace (
		if(applies, ceil(bytes / 4194304), n) as n, if(applies, ceil(bytes / 4194304), cached) as cached, if(applies, 0, served) as served
	)
from query_table(requests_of) left join gathered using (file, what);

-- ... if reads that go back lay in order.
create or replace macro on_sorted(requests_of) as table
select * replace (if(served >= 16, n - 1, cached) as cached, if(served >= 16, 1, served) as served) from query_table(requests_of) where what = 'read'
union all by name
from query_table(requests_of) where what <> 'read';

-- The cells of the process or chain that takes longest, by cause. Columns: process (of a chain its first), rank, in_turn (processes of the
-- chain), cause, low, best, high (seconds).
create or replace macro on_slowest(cells_of) as table
with longest as (
	select chain, count(distinct process) as in_turn from query_table(cells_of) join chains() using (process)
	group by chain order by sum(best) desc, chain limit 1
)
select
	chain as process, any_value(p.rank) as rank, any_value(in_turn) as in_turn, cause, sum(low) as low, sum(best) as best, sum(high) as high
from query_table(cells_of) join chains() using (process) join longest using (chain) join processes as p using (process)
group by chain, cause;

-- Files, of one place together, by the seconds of the process or chain that they take longest, and what takes them.
-- Columns: place, files, processes, low, best, high (seconds), causes (cause, what, best: of that process; n, waits, bytes: of all; the most seconds
-- first).
create or replace macro on_places(cells_of) as table
with cell as (
	from query_table(cells_of) join chains() using (process)
),
in_turn as (
	select place, chain, count(distinct process) as processes, sum(low) as low, sum(best) as best, sum(high) as high from cell group by place, chain
),
place as (
	select
		place, sum(processes) as processes, arg_max(chain, (best, -chain::bigint)) as slowest, arg_max(low, best) as low, max(best) as best,
		arg_max(high, best) as high
	from in_turn
	group by place
),
cause as (
	select
		c.place, c.cause, if(c.cause = 'names', 'name', c.what) as what, coalesce(sum(c.best) filter (c.chain = p.slowest), 0) as best, sum(c.n) as n,
		sum(c.waits) as waits, sum(c.bytes) as bytes, count(distinct c.file) as files
	from cell as c join place as p using (place)
	group by all
)
select
	p.place, max(c.files) as files, any_value(p.processes) as processes, any_value(p.low) as low, any_value(p.best) as best, any_value(p.high) as high,
	list({cause: c.cause, what: c.what, best: c.best, n: c.n, waits: c.waits, bytes: c.bytes} order by c.best desc) as causes
from place as p join cause as c using (place)
group by p.place;

-- Seconds at the storage as they were measured in this run, by process, place and cause (account_storage()). Columns: process, place, cause, seconds.
create or replace macro on_here() as table
select
	s.process, coalesce(l.place, f.path, 'files that are not known by name') as place, cause, sum(s.time) / 1e9 as seconds
from account_storage() as s left join files as f on f.file = s.file left join places() as l on l.file = s.file
group by all;
