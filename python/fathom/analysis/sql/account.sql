-- The account: where the seconds of the program's own I/O calls went. Each belongs to one cause, and the cells add up to the I/O time of each process.

-- Keys of counters that lie in the program's own I/O: its own calls, and those below them. What a library asked of MPI is one key,
-- whatever is below. Columns: those of counters, `file` -1 where there is none, and `own` (made by the program itself).
create or replace macro account_keys() as table
with each as materialized (
	select
		c.process, c.thread_class, coalesce(c.file, -1)::bigint as file, c.layer, c.op, c.kind, c.enclosing_layer, c.enclosing,
		is_outermost(c.enclosing_layer, c.enclosing) as own,
		sum(c.calls)::bigint as calls, sum(c.errors)::bigint as errors, sum(coalesce(c.bytes, 0))::hugeint as bytes, sum(c.time)::double as time
	from counters as c left join files as f using (file)
	where is_own_layer(c.layer, c.kind) and is_outermost(c.enclosing_layer, c.enclosing) and is_file(f.kind, f.path, f.file_system)
		or c.layer not in ('fathom', 'user', 'threads', 'server', 'disk')
			and c.enclosing_layer not in ('fathom', 'user', 'threads', 'mpi', 'server', 'disk')
			and not is_communication(c.enclosing_layer, c.enclosing)
	group by all
),
-- A call below one that is not there (left out as not the program's) is not either.
there as (
	select distinct process, hash(thread_class, layer, op) as function from each
)
from each where own
union all
select each.*
from each semi join there on there.process = each.process and there.function = hash(each.thread_class, each.enclosing_layer, each.enclosing)
where not own;

-- Time of each key that no call below it explains (`rest`, ns): they add up to the own calls' time of each process. Calls below are on the same
-- file, or are spread over all that their caller's function was on. Where calls below took longer than those above (logs that
-- only know sums), the process's others give it.
create or replace macro account_rests() as table
-- Numbers of functions are compared sooner than their names.
with keys as materialized (
	select *, hash(thread_class, layer, op) as function, hash(thread_class, enclosing_layer, enclosing) as caller from account_keys()
),
below as (
	select process, caller as function, file, sum(time) as time from keys where not own group by all
),
above as (
	select process, function, file, sum(time) as time, count(*) as keys from keys group by all
),
-- What is below on files that the function was not called on.
spread as (
	select b.process, b.function, sum(b.time) as time from below as b anti join above as a using (process, function, file) group by all
),
whole as (
	select process, function, sum(time) as time, count(*) as files from above group by all
),
held as (
	select
		a.*, coalesce(b.time, 0) + coalesce(s.time * if(w.time > 0, a.time / w.time, 1 / w.files), 0) as inside
	from above as a left join below as b using (process, function, file)
		left join spread as s using (process, function) left join whole as w using (process, function)
),
raw as (
	select k.*, k.time - h.inside * if(h.time > 0, k.time / h.time, 1 / h.keys) as difference from keys as k join held as h using (process, function, file)
),
-- What is missing in some is taken from libraries first, then from all.
short as (
	select
		process,
		-sum(least(0, difference)) as missing,
		coalesce(sum(greatest(0, difference)) filter (is_library(layer)), 0) as of_libraries,
		coalesce(sum(greatest(0, difference)) filter (not is_library(layer)), 0) as of_others
	from raw
	group by process
)
select
	raw.* exclude (difference, function, caller),
	greatest(0, difference) * case
		when missing = 0 then 1
		when is_library(layer) then greatest(0, 1 - missing / nullif(of_libraries, 0))
		when missing > of_libraries then 1 - (missing - of_libraries) / nullif(of_others, 0)
		else 1
	end as rest
from raw join short using (process);

-- Functions that all ranks of a file call together. A log of Darshan has functions of one kind as one: what most of its calls were.
create or replace macro account_collectives() as table
select layer, op, any_value(kind) as kind
from (
	select layer, op, kind, true as collective, 1 as calls from ops where collective
	union all
	select t.layer, t.op, t.kind, coalesce(f.collective, false), t.calls from tops as t join ops as f on f.layer = t.layer and f.op = t.label
	where t.what = 'function' and is_library(t.layer)
)
group by layer, op
having coalesce(sum(calls) filter (collective), 0) > 0.5 * sum(calls);

-- Files that several ranks read or write by independent calls of MPI-IO, of 256 KiB on average at most, 256 of a rank and more.
-- Columns: file, what (read, write), ranks, n, bytes, most (bytes of one rank), seconds (of the slowest).
create or replace macro small_independent() as table
with each as (
	select file, process, kind, sum(calls - errors) as n, sum(bytes) as bytes, sum(time) / 1e9 as seconds
	from counters
	where layer = 'mpiio' and kind in ('read', 'write') and file is not null
		and (layer, op) not in (select (o.layer, o.op) from account_collectives() as o) and bytes > 0 and calls > errors
	group by all
)
select file, kind as what, count(*) as ranks, sum(n)::hugeint as n, sum(bytes)::hugeint as bytes, max(bytes) as most, max(seconds) as seconds
from each
group by file, kind
having count(*) > 1 and sum(bytes) < 262144 * sum(n) and max(n) >= 256;

-- How long each process waited in MPI-IO's collective functions until the last rank came, ns, by file.
create or replace macro account_waits() as table
select c.process, c.layer, c.op, coalesce(c.file, -1)::bigint as file, sum(greatest(0, least(k.last_enter, c.start + c.duration) - c.start))::double as waited
from calls as c join collectives as k using (collective)
where c.layer = 'mpiio'
group by all
having waited > 0;

-- The same as account_rests() by process, function and file, in ns. What libraries asked of MPI stands beside it (`communicated`). What
-- both hold of waiting for the last rank to come is `waited` and `waited_outside`.
create or replace macro account_functions() as table
with rests as (from account_rests()),
function as materialized (
	select
		process, layer, op, kind, file, own, enclosing_layer, enclosing, hash(layer, op) as function, sum(calls) as calls, sum(errors) as errors,
		sum(bytes) as bytes, sum(time) as time, sum(rest) as rest
	from rests
	where layer <> 'mpi'
	group by all
),
whole as (
	select process, function, sum(time) as time, count(*) as keys from function group by all
),
talk as (
	select process, hash(enclosing_layer, enclosing) as function, sum(rest) as time from rests where layer = 'mpi' group by all
),
wait as (
	select w.process, w.file, f.function, any_value(w.waited) / nullif(sum(f.time), 0) as part
	from account_waits() as w join function as f using (process, layer, op, file)
	group by all
),
waits as (
	select
		f.* exclude (function), coalesce(t.time * coalesce(f.time / nullif(w.time, 0), 1 / w.keys), 0) as communicated,
		coalesce(f.time * a.part, 0) as waiting
	from function as f join whole as w using (process, function) left join talk as t using (process, function)
		left join wait as a using (process, function, file)
)
select
	* exclude (waiting),
	least(waiting, communicated) as waited,
	least(greatest(0, waiting - communicated), rest) as waited_outside
from waits;

-- Files that are open with O_SYNC or O_DSYNC: each of their writes is a sync too.
create or replace macro synced_by_open() as table
select distinct file from objects where class = 'descriptor' and flags & 4096 <> 0 and flags & 3 <> 0 and file is not null;

-- Files whose syncs have no seconds of their own: those are in their writes'. So it is where each write is a sync, and in logs of Darshan, of
-- which there are at most four for a sync, or fewer bytes than half a page.
create or replace macro account_silent() as table
select file
from counters
where kind in ('sync', 'write') and is_system(layer) and file is not null
group by file
having sum(time) filter (kind = 'sync') = 0 and (
	4 * sum(calls) filter (kind = 'sync') >= sum(calls) filter (kind = 'write')
	or sum(bytes) filter (kind = 'write') < 2048 * sum(calls) filter (kind = 'sync')
)
union
from synced_by_open();

-- What a byte costs in this run: large accesses to files that one process has at a time, the quicker quarter of what processes saw. Columns:
-- directory, kind, per_byte (seconds), n (accesses).
create or replace macro account_bytes() as table
select directory, kind, quantile_cont(each, 0.25) as per_byte, sum(n) as n
from (
	select
		p.directory, a.kind, a.process, sum(a.n) as n,
		exp(sum(a.log_time) / sum(a.n)) / 1e9 / (sum(a.bytes) / sum(a.n)::double) as each
	from accesses() as a join places() as p using (file)
	where a.bin >= 18 and a.file not in (from shared_files()) and (a.kind = 'read' or a.file not in (from account_silent()))
	group by all
)
group by directory, kind;

-- What a request costs in this run beyond its bytes. Of a file that several have at a time sizes must tell it, or be below a page: fewer requests
-- would be in nobody's way. Columns: file, kind, latency (seconds), alone (one process has the file at a time; else others may have been in its
-- way), sizes (told by accesses of several sizes), bound (it may well be more).
create or replace macro account_requests() as table
select s.file, s.kind, s.latency, b.file is null as alone, s.learnt = 'sizes' as sizes, s.learnt = 'rate' as bound
from store_costs() as s left join shared_files() as b using (file)
where s.latency > 0 and (b.file is null or s.learnt in ('sizes', 'page')) and (s.kind = 'read' or s.file not in (from account_silent()));

-- What accesses cost in this run, of each mount and direction where it shows what a byte costs: what other runs of the site may go by.
-- Columns: file_system, mount, kind, per_byte, request (seconds; null: not shown).
create or replace macro account_mounts() as table
with of_mount as (
	select p.file, p.directory, f.file_system, f.mount
	from places() as p join files as f using (file)
	where f.file_system is not null and f.mount is not null
),
-- One access, or two, may have met anything.
byte as (
	select m.file_system, m.mount, b.kind, median(b.per_byte) as per_byte
	from (select distinct directory, file_system, mount from of_mount) as m join account_bytes() as b using (directory)
	where b.n >= 4
	group by all
),
request as (
	select m.file_system, m.mount, r.kind, median(r.latency) as request
	from of_mount as m join account_requests() as r using (file)
	where r.alone and r.sizes
	group by all
)
from byte left join request using (file_system, mount, kind);

-- What an access costs when nobody is in its way, of each file and direction: seconds of a request beyond its bytes (`request`), and of a
-- byte, with the ends of the interval (`per_byte`; `served`: by one server, for all processes together). `learnt`: `run`: a byte's
-- from large accesses of this run, as far as the catalog's store allows; `site`: from other runs on this mount (site_references()), as
-- far as the store allows; `catalog`: from the store alone. `of_network`: others may be at the store.
create or replace macro account_references() as table
with of_file as (
	select p.file, p.directory, f.file_system, f.mount from places() as p join files as f using (file)
	union all
	select -1, '', null, null
),
store as (
	select f.file, f.directory, f.file_system, f.mount, s.*
	from of_file as f join stores_in_use() as t on t.file_system is not distinct from f.file_system join stores() as s using (store)
)
select
	s.file, s.direction as kind,
	if(small.alone and not small.bound, small.latency, least(coalesce(site.request, small.latency, sqrt(s.cached_low * s.server_high)), s.server_high)) as request,
	least(coalesce(large.per_byte, site.per_byte, 1 / sqrt(s.rate_low * s.rate_high)), 1 / s.rate_low) as per_byte,
	case
		when large.per_byte is null and site.per_byte is not null then least(site.per_byte_best, 1 / s.rate_low)
		else least(coalesce(large.per_byte, 1 / s.rate_high), 1 / s.rate_high)
	end as per_byte_low,
	1 / s.rate_low as per_byte_high,
	-- Of all processes together, by one server: a store that does not say it is as quick as its clients.
	coalesce(1 / sqrt(s.server_rate_low * s.server_rate_high), 0) as served,
	coalesce(1 / s.server_rate_high, 0) as served_low,
	coalesce(1 / s.server_rate_low, 0) as served_high,
	s.kind = 'network' as of_network,
	case when large.per_byte is not null then 'run' when site.per_byte is not null then 'site' else 'catalog' end as learnt
from store as s left join account_bytes() as large on large.directory = s.directory and large.kind = s.direction
	left join account_requests() as small on small.file = s.file and small.kind = s.direction
	left join site_references() as site on site.file_system = s.file_system and site.mount = s.mount and site.kind = s.direction;

-- At which direction's price a call at the storage is taken, null: at none. Posts and waits that do not say which have that of writes.
create or replace macro priced_way(kind, op) as
coalesce(direction(kind, op), case when kind in ('wait', 'post') then 'write' end);

-- Files whose opens and the like waited for something that is no name: a second each and longer, fewer than ten in the time of the longest. Named
-- pipes do so, leases and tapes; a server of names that takes so long does it to many at once. Seeks are in it: logs of Darshan have them in the same
-- sum. Columns: process, file.
create or replace macro account_held_up() as table
with slow as (
	select process, coalesce(file, -1)::bigint as file, sum(calls) as n, sum(time) / 1e9 / sum(calls) as each
	from counters
	where kind in ('open', 'close', 'meta', 'seek') and is_system(layer)
	group by all
	having each >= 1
)
select process, file from slow where (select sum(n) < 10 * max(each) from slow);

-- Time at the storage (system calls, streams, clients of stores) by cause. Columns: process, layer, op, kind, file, enclosing_layer,
-- enclosing, cause, kernel (of kernel_parts()), time (ns).
-- Data that nobody asked for are what moved beyond what the program's own calls of the same direction asked of the file.
create or replace macro account_storage() as table
with functions as (from account_functions()),
storage as (
	select
		*, priced_way(kind, op) as way,
		coalesce(enclosing_layer in ('netcdf', 'pnetcdf', 'hdf5', 'mpiio') and enclosing not like 'H5FD%'
			and (select any_value(o.kind) from ops as o where o.layer = f.enclosing_layer and o.op = f.enclosing) in ('open', 'close', 'meta'), false) as of_names
	from functions as f
	where is_system(layer) or is_store(layer)
),
asked as (
	select file, way, sum(bytes)::double as bytes
	from (select file, unnest(directions(kind, op)) as way, bytes from functions where own or is_silent(enclosing_layer))
	group by all
),
-- What a call of a stream takes that neither fills nor empties its buffer; where only sums are known, at most a microsecond. Of printf and scanf it is
-- more: text of numbers took 12 ns a byte and 50 ns a call on a machine of 2023.
buffered as (
	select process, kind, file, sum(n * each) / sum(n) as each from stream_pages() where each is not null group by all
),
moved as (
	select file, way, sum(bytes)::double as bytes
	from storage
	where way is not null and not of_names and coalesce(enclosing_layer, '') not in ('stdio', 'posix', 'aio', 'dfs')
	group by all
),
-- The buffer of a stream makes one request of many small calls, which are quick then.
formatted as (
	select s.*, t.each, if(s.layer = 'stdio' and is_formatted(s.op), 5e-8 * s.calls + 1.2e-8 * s.bytes, 0) as formatting
	from storage as s left join buffered as t using (process, kind, file)
),
gathering as (
	select
		* exclude (bytes), bytes::double as bytes,
		layer = 'stdio' and bytes < 4096 * calls and calls * coalesce(each, 0) <= 1e-6 * calls + formatting as gathered,
		ceil(bytes / 4096) as blocks
	from formatted
),
priced as (
	select
		s.process, s.layer, s.op, s.kind, s.file, s.enclosing_layer, s.enclosing, s.way, s.rest, s.of_names, s.bytes,
		if(gathered, blocks, calls) as n,
		if(gathered, coalesce(calls * each, formatting), 0) as seen_inside,
		if(gathered and each is null, calls * 1e-6, 0) as most_inside,
		-- Reads that a library makes to write are asked for by nobody. Posts and waits are of what was asked.
		least(
		    1,
		    case
		        when coalesce(a.bytes, 0) > 0 then a.bytes / nullif(m.bytes, 0) when s.own or s.enclosing_layer is null or s.kind in ('post', 'wait') then 1 else 0
		    end
		) as needed,
		-- A write that is a sync would go to memory without it: all beyond its bytes is the sync's.
		if(s.way = 'write' and s.file in (from synced_by_open()), 0, r.request) as request,
		r.per_byte, s.file in (from account_silent()) as synced,
		-- Of a network's file system others' quicker accesses to the directory say what one costs alone: a slow server, other jobs are in the rest.
		s.file in (from shared_files()) or r.of_network and r.learnt = 'run' and (select count(*) > 1 from processes) as contended,
		-- Readers take no locks from one another: of a file that is only read what they cost each other is the rate of its servers, at the lowest.
		if(s.file in (from read_together()), m.bytes * coalesce(nullif(r.served_high, 0), r.per_byte_high) / coalesce(l.stripes, 1), null) as most_together
	from gathering as s left join asked as a using (file, way) left join moved as m using (file, way)
		left join file_layouts() as l using (file)
		left join account_references() as r on r.file = s.file and r.kind = s.way
),
-- One thing in each step: an expression that stands on others of its own step holds a copy of each, and so on.
moved_part as (
	select *, rest / 1e9 as seconds, least(seconds, coalesce(bytes * coalesce(needed, 1) * per_byte, seconds)) as transfer
	from priced
	where way is not null and not of_names
),
needless_part as (
	select *, seconds - transfer as beyond, least(beyond, coalesce((1 - coalesce(needed, 1)) * (bytes * per_byte + n * request), 0)) as needless
	from moved_part
),
stream_part as (
	select *, beyond - needless as without, least(without, seen_inside) as in_stream from needless_part
),
requests_part as (
	select *, without - in_stream as left_over, least(left_over, coalesce(coalesce(needed, 1) * n * request, 0)) as requests from stream_part
),
inside_part as (
	select *, in_stream + least(left_over - requests, most_inside) as inside from requests_part
),
others_part as (
	select *, seconds - transfer - needless - requests - inside as others from inside_part
),
parts as (
	select *, case when contended then least(others, greatest(0, coalesce(most_together - transfer, others))) else 0 end as contention from others_part
),
cells as (
	select
		process, layer, op, kind, file, enclosing_layer, enclosing,
		case
			when kind = 'sync' or kind = 'close' and layer = 'stdio' then 'sync'
			when kind = 'seek' then 'requests'
			when op in ('fcntl', 'flock', 'lockf', 'flockfile') then 'locks'
			when of_names and enclosing like '%close%' then 'sync'
			when kind = 'map' then 'transfer'
			when (process, file) in (select (h.process, h.file) from account_held_up() as h) then 'unexplained'
			else 'names'
		end as cause,
		rest / 1e9 as seconds
	from priced
	where way is null or of_names
	union all
	select
		process, layer, op, kind, file, enclosing_layer, enclosing,
		unnest([
			'transfer', 'needless', 'requests', 'library', if(synced and way = 'write', 'sync', 'contention'), if(synced and way = 'write', 'sync', 'unexplained')
		]) as cause,
		unnest([transfer, needless, requests, inside, contention, others - contention]) as seconds
	from parts
),
caused as (
	select process, layer, op, kind, file, enclosing_layer, enclosing, cause, sum(seconds) * 1e9 as time from cells where seconds > 0 group by all
)
select c.* exclude (time), k.kernel, c.time * coalesce(k.part, 1) as time
from caused as c left join kernel_parts() as k using (process, layer, op, file);

-- Ranks that share processors: on their node, or on the processors that the very same ranks may run on, more ran at once than there are
-- processors for them; and they waited for one for a tenth of the time that they wanted one. Columns: process, ranks, processors, waited (share).
create or replace macro account_crowded() as table
with rank as (
	select process, node, start, stop, allowed, allowed_processors, processor_wait / nullif(processor_time + processor_wait, 0)::double as waited
	from processes
	where rank is not null and allowed is not null
),
mask as (
	select
		allowed,
		flatten(list_transform(
			string_split(allowed, ','), lambda one: range(split_part(one, '-', 1)::bigint, coalesce(nullif(split_part(one, '-', 2), ''), one)::bigint + 1)
		)) as processors
	from (select distinct allowed from rank)
),
beside as (
	select p.process, q.allowed, count(*) as ranks, max(q.allowed_processors) as most
	from rank as p join rank as q on q.node = p.node and q.start < p.stop and q.stop > p.start
	group by p.process, q.allowed
),
-- A quota of time is one for all that share these processors.
of_node as (
	select
		process, sum(ranks) as ranks,
		least(len(list_distinct(flatten(list(m.processors)))), sum(b.most)) as processors
	from beside as b join mask as m using (allowed)
	group by process
),
compared as (
	select process, ranks, processors from of_node
	union all
	select b.process, b.ranks, b.most from beside as b join rank as r using (process, allowed)
)
select process, arg_max(b.ranks, b.ranks / b.processors) as ranks, arg_max(b.processors, b.ranks / b.processors) as processors, any_value(r.waited) as waited
from compared as b join rank as r using (process)
where b.processors > 0
group by process
having max(b.ranks / b.processors) > 1 and any_value(r.waited) >= 0.1;

-- How long the thread that makes nearly all of a process's calls waited for a processor, ns. Others wait beside it, not for it. Columns:
-- process, waited.
create or replace macro account_delays() as table
select s.process, coalesce(arg_max(s.processor_wait, s.events), any_value(p.processor_wait)) as waited
from streams as s join processes as p using (process)
group by s.process
having max(s.events) >= 0.98 * sum(s.events) and waited is not null;

-- Files that have datasets with a filter: to close or flush them compresses what is left.
create or replace macro account_filtered() as table
select distinct file
from hints_in_force
where (key = 'filters' and value not in ('', 'none') or key = 'filter_count' and value <> '0') and file is not null;

-- The account: cells with their time in ns, which add up to the time of each process's own I/O calls. Columns: process, cause, layer, op,
-- kind, file, collective (in or below a collective read or write), through (another rank's storage was waited for), kernel (what the
-- kernel did meanwhile, of kernel_parts(); null: not known), time.
create or replace macro account() as table
with storage as materialized (from account_storage()),
-- Storage below collective reads and writes: of the process that it took longest, by cause.
below as (
	select s.process, s.enclosing_layer as layer, s.enclosing as op, s.file, sum(s.time) as time
	from storage as s join account_collectives() as o on o.layer = s.enclosing_layer and o.op = s.enclosing
	where o.kind in ('read', 'write')
	group by all
),
slowest as (
	select layer, op, file, max(time) as time, arg_max(process, time) as process from below group by all
),
shape as (
	select s.layer as of_layer, s.op as of_op, s.file, c.cause, c.layer, c.op, c.kind, c.kernel, c.time / s.time as share
	from slowest as s join storage as c on c.process = s.process and c.file = s.file and c.enclosing_layer = s.layer and c.enclosing = s.op
	where s.time > 0
),
libraries as (
	select
		f.*, o.is_collective is not null as collective, communicated - waited as exchange, rest - waited_outside as library,
		if(o.is_collective is not null and f.kind in ('read', 'write'), greatest(0, coalesce(s.time, 0) - coalesce(b.time, 0)), 0) as others_storage,
		t.op is not null as is_talk_known
	from account_functions() as f left join (
			select layer, op from account_functions() where communicated > 0 group by all
		) as t using (layer, op) left join (select layer, op, true as is_collective from account_collectives()) as o using (layer, op)
		left join below as b using (process, layer, op, file) left join slowest as s on s.layer = f.layer and s.op = f.op and s.file = f.file
	where not (is_system(f.layer) or is_store(f.layer))
),
split as (
	select
		*,
		least(exchange + library, others_storage) as through,
		-- Of exchange first: who waits for an aggregator waits in communication.
		least(exchange, through) as of_exchange
	from libraries
),
cells as (
	select process, cause, layer, op, kind, file,
		(enclosing_layer, enclosing) in (select (o.layer, o.op) from account_collectives() as o where o.kind in ('read', 'write')) as collective,
		false as through, kernel, time
	from storage
	union all
	select p.process, h.cause, h.layer, h.op, h.kind, p.file, true, true, h.kernel, p.through * h.share
	from split as p join shape as h on h.of_layer = p.layer and h.of_op = p.op and h.file = p.file
	union all
	select
		process,
		unnest(['waiting', 'exchange', case
			when kind in ('close', 'sync') and file in (from account_filtered()) then 'library'
			when op like 'H5FD%' then 'library' -- moves data, whatever these are
			when kind in ('open', 'close', 'dir') or kind = 'meta' and (layer <> 'mpiio' or op = 'MPI_File_delete') then 'names'
			when kind = 'sync' then 'sync'
			when collective and not is_talk_known then 'exchange'
			else 'library'
		end]),
		layer, op, kind, file, collective and kind in ('read', 'write'), false, null,
		unnest([waited + waited_outside, exchange - of_exchange, library - (through - of_exchange)])
	from split
),
-- Ranks that share processors: of what they communicate and wait, a copy of the bytes at 1 GB/s and 50 us a call are left, what messages
-- in a node take where each rank has its own.
crowd as (
	select c.process, least(1, coalesce(b.needed, 0) / nullif(sum(c.time), 0)) as part
	from cells as c join account_crowded() as w using (process)
		left join (
			select process, sum(2 * coalesce(bytes, 0) + 50000 * calls) as needed from account_functions() where is_library(layer) group by process
		) as b using (process)
	where c.cause in ('exchange', 'waiting')
	group by c.process, b.needed
),
parted as (
	select c.* exclude (time), time * if(cause in ('exchange', 'waiting'), coalesce(part, 1), 1) as time from cells as c left join crowd using (process)
	union all
	select process, 'processor', layer, op, kind, file, collective, through, null, time * (1 - part)
	from cells join crowd using (process)
	where cause in ('exchange', 'waiting')
),
-- Of a process one of whose threads makes its calls (MPI libraries have others that sleep): where that waited for a processor longer than it was
-- outside of I/O calls, it did so inside them. In each alike.
queue as (
	select process, least(1, (w.waited - greatest(0, stop - start - io) - crowded) / (io - crowded)) as part
	from processes join (
			select process, sum(time) as io, coalesce(sum(time) filter (cause = 'processor'), 0) as crowded from parted group by process
		) using (process) join account_delays() as w using (process)
	where io > crowded and w.waited - greatest(0, stop - start - io) - crowded >= 0.02 * (io - crowded)
),
queued as (
	select c.* exclude (time), time * if(cause = 'processor', 1, 1 - coalesce(part, 0)) as time
	from parted as c left join queue using (process)
	union all
	select process, 'processor', layer, op, kind, file, collective, through, null, time * part
	from parted join queue using (process)
	where cause <> 'processor'
)
select process, cause, layer, op, kind, nullif(file, -1) as file, coalesce(collective, false) as collective, through, kernel, sum(time) as time
from queued
where time > 0
group by all;

-- Seconds of syncs and flushes by process, layer and file. A log of Darshan has them in those of writes.
create or replace macro account_syncs() as table
select process, layer, file, sum(time) / 1e9 as seconds from account() where cause = 'sync' and kind in ('sync', 'write') group by process, layer, file;

-- Counters of what a run-time did for itself on files of a network's file system: modules of an interpreter, libraries, settings. Those of
-- the program leave them out. Columns: those of counters, path, file_system, mount.
create or replace macro start_up_counters() as table
select c.*, f.path, f.file_system, f.mount
from runtime_counters as c join runtime_files as f using (file)
where is_network(f.file_system) and is_system(c.layer) and is_outermost(c.enclosing_layer, c.enclosing);

-- The account, and beside it cells of causes `start-up`, start_up_counters(), and `faults`, kernel_faults(). They are in none of the program's own calls.
create or replace macro account_and_beside() as table
from account()
union all by name
select process, 'start-up' as cause, layer, op, kind, file, false as collective, false as through, null as kernel, sum(time)::double as time
from start_up_counters()
group by process, layer, op, kind, file
union all by name
select process, 'faults' as cause, 'posix' as layer, 'mmap' as op, 'map' as kind, file, false as collective, false as through, 'device' as kernel,
	sum(waited)::double as time
from kernel_faults()
group by process, file;

-- The account over time: how much of each cause's time lies in each bin of the run, of all processes together. Reads and writes are where table
-- `heat` has them, also those that were only counted; other calls in the bins in which they ran. Columns: time (when a bin begins, ns; null: when is
-- not known), cause, spent (ns).
create or replace macro account_over_time() as table
with width as (
	select coalesce((select max(stop - start) from heat), (select greatest(1, duration // 100) from runs)) as bin
),
moment as (
	select process, layer, operation as kind, start // bin * bin as time, sum(heat.time)::double as spent from heat, width group by all
	union all
	select process, layer, kind, number * bin, sum(least(start + duration, (number + 1) * bin) - greatest(start, number * bin))
	from (
		select *, unnest(range(start // bin, (start + duration) // bin + 1)) as number from calls, width where kind not in ('read', 'write')
	)
	group by all
),
part as (
	select process, layer, kind, time, spent / nullif(sum(spent) over (partition by process, layer, kind), 0) as part from moment
),
cells as (
	select process, layer, kind, cause, sum(time) as spent from account() group by all
)
select p.time, c.cause, sum(c.spent * coalesce(p.part, 1)) as spent
from cells as c left join (from part where part > 0) as p using (process, layer, kind)
group by all
order by p.time, c.cause;
