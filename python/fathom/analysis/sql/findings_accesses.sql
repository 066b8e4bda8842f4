-- Accesses of POSIX and C streams, and what they cost: learnt from this run's own calls. Findings stand on these; each is worked out once for each run.

-- Files, and what they have in common: those whose paths differ in numbers and random letters only are of one `place` (/out/rank.*.h5), their
-- directories one `directory`; a file that is alone keeps its path. `block`: the bytes that one lock or one server's piece
-- covers, a stripe where it is known, else a page of
-- 4,096 bytes, the least that a kernel reads or writes. Files that hold no data (sockets, pipes, devices, /proc) are left out.
-- Columns: file, path, place, directory, system (file system), block (bytes), striped (is `block` a stripe).
create or replace macro places() as table
with stripe as (
	select file, stripe_bytes as bytes from file_layouts() where stripe_bytes >= 4096
),
named as (
	select
		f.*, regexp_extract(path, '^(.*/)?[^/]*$', 1) as folder, file_group(f.path) as name, starred(folder) as folders
	from files as f
),
-- Stars only where something differs.
placed as (
	select
		*, count(*) over (partition by folders, name) as alike,
		if(min(folder) over (partition by folders) = max(folder) over (partition by folders), folder, folders) as place
	from named
)
select
	f.file,
	f.path,
	if(alike = 1, path, f.place || name) as place,
	-- An import may know a name only, not where it lay.
	case f.place when '' then 'an unknown directory' when '/' then '/' else rtrim(f.place, '/') end as directory,
	f.key as system,
	coalesce(stripe.bytes, 4096) as block,
	stripe.bytes is not null as striped
from placed as f left join stripe using (file)
where (f.kind = 'regular' or f.kind = 'unknown' and f.path not like '/dev/%') and is_file(f.kind, f.path, f.file_system);

-- Reads and writes of POSIX and C streams that moved bytes, summed by thread, file, size and place in the file: what findings
-- on the shape of accesses stand on. From `calls`; of what was only counted, from `counters`: `bin` is then that of the mean size.
-- One pass in the order in which calls lie (thread after thread, by start): a window without a partition needs no sort.
-- Columns: process, stream (null: counted only), layer, kind, file, own (made by the program itself, not inside a library),
-- bin (floor of log2 of the bytes), aligned (begins and ends at a multiple of 4,096; null: not known), place (`on`: where the
-- one before on this file ended; `ahead`, `back`; null: not known), n, bytes, time, log_time (sum of ln of ns, for the
-- geometric mean, which a few slow calls do not move), longest, worst (its `calls.id`), first, last (ns), lowest, highest
-- (bytes of the file).
create or replace macro accesses() as table
with each as (
	select
		id, process, stream, layer, kind, file, file_offset, bytes, start, duration,
		is_own_access_call(depth, parent) as own,
		lag(stream) over () as stream_before,
		lag(file) over () as file_before,
		lag(file_offset + bytes) over () as end_before
	from calls
	where kind in ('read', 'write') and layer in ('posix', 'stdio') and bytes > 0 and error = 0 and state = 'done'
		and file is not null
),
recorded as (
	select
		process, stream, layer, kind, file, own,
		floor(log2(bytes))::int as bin,
		file_offset % 4096 = 0 and (file_offset + bytes) % 4096 = 0 as aligned,
		case
			when stream <> stream_before or file <> file_before then null
			when file_offset = end_before then 'on'
			when file_offset > end_before then 'ahead'
			when file_offset < end_before then 'back'
		end as place,
		count(*) as n,
		sum(bytes)::hugeint as bytes,
		sum(duration)::hugeint as time,
		sum(ln(greatest(duration, 1))) as log_time,
		max(duration) as longest,
		arg_max(id, duration) as worst,
		min(start) as first,
		max(start + duration) as last,
		min(file_offset) as lowest,
		max(file_offset + bytes) as highest
	from each
	group by all
),
counted as (
	select
		process, null::uinteger as stream, layer, kind, file,
		is_own_access(enclosing_layer, enclosing) as own,
		floor(log2(bytes / (calls - errors)))::int as bin,
		case when unaligned_file = 0 then true when unaligned_file > 0.5 * calls then false end as aligned,
		case when consecutive > 0.5 * calls then 'on' when sequential > 0.5 * calls then 'ahead' when sequential < 0.5 * calls then 'back' end
			as place,
		(calls - errors)::bigint as n,
		bytes,
		time,
		(calls - errors) * ln(greatest(1, time / (calls - errors))) as log_time,
		longest,
		null::ubigint as worst,
		first_start as first,
		last_stop as last,
		null::bigint as lowest,
		null::bigint as highest
	from counters
	where kind in ('read', 'write') and layer in ('posix', 'stdio') and recorded = 0 and bytes > 0 and calls > errors
)
from recorded
union all
from counted;

-- Small reads and writes of C streams, whose buffer gathers a page of 4,096 bytes: what it costs to fill or to empty that, apart from the rest. As
-- many of a thread's longest calls as it moved pages did that; their geometric mean, which a few slow ones do not move, is what a page costs. No other
-- call counts for more than that: it has lost its processor. What printf and scanf take is formatting, which larger pieces need as well.
-- Of what was only counted the sum is all that is known: it is the pages', without the longest call and without formatting. One row per thread,
-- direction and file:
-- process, stream (null: counted only), kind, file, n, bytes, pages, page (seconds of one), others (seconds of the rest, without formatting), each
-- (seconds of one of the rest, formatting too; null: not known), formatted (bytes that went through printf or scanf).
create or replace macro stream_pages() as table
with timed as (
	select
		process, stream, kind, file, is_formatted(op) as formatted, floor(4 * log2(greatest(duration, 1))) as bin,
		count(*) as n, sum(bytes) as bytes, sum(duration)::double as time, sum(ln(greatest(duration, 1))) as log_time
	from calls
	where layer = 'stdio' and kind in ('read', 'write') and bytes between 1 and 4095 and error = 0 and state = 'done' and file is not null
	group by all
),
ranked as (
	select
		*, sum(bytes) over thread / 4096 as pages, sum(n) over (thread order by bin desc, formatted rows unbounded preceding) - n as longer
	from timed
	window thread as (partition by process, stream, kind, file)
),
filling as (
	select *, greatest(0, least(n, pages - longer)) as filled from ranked
),
paged as (
	select
		*, exp(sum(filled * log_time / n) over thread / sum(filled) over thread) as page, if(formatted, most_formatting(n, bytes), 0) / n as formatting
	from filling
	window thread as (partition by process, stream, kind, file)
)
select
	process, stream, kind, file, sum(n) as n, sum(bytes)::hugeint as bytes, any_value(pages) as pages,
	any_value(page) / 1e9 as page,
	sum((n - filled) * greatest(0, least(time / n, page) - formatting)) / 1e9 as others,
	exp(sum((n - filled) * log_time / n) / nullif(sum(n - filled), 0)) / 1e9 as each,
	coalesce(sum(bytes) filter (formatted), 0)::hugeint as formatted
from paged
group by process, stream, kind, file
union all
select
	process, null, kind, file, sum(calls - errors), sum(bytes)::hugeint, sum(bytes) / 4096,
	-- Of a log that does not say the longest, that is all.
	greatest(
		0, sum(time) - if(max(longest) < sum(time), max(longest), 0) - coalesce(sum(most_formatting(calls, bytes)) filter (is_formatted(op)), 0)
	) / sum(bytes) * 4096 / 1e9,
	0, null, coalesce(sum(bytes) filter (is_formatted(op)), 0)::hugeint
from counters
where kind in ('read', 'write') and layer = 'stdio' and recorded = 0 and bytes > 0 and calls - errors > 1 and bytes / (calls - errors) < 4096
group by process, kind, file;

-- Files that were only opened past the page cache. O_DIRECT is 0x4000 on x86-64 and 0x10000 on aarch64; the other is O_DIRECTORY there, of which nothing
-- is read.
create or replace macro direct_files() as table
select file from objects where class = 'descriptor' and file is not null group by file having bool_and(flags & 81920 <> 0);

-- The store of each file system of the run's files, and of none. Columns: file_system, store.
create or replace macro stores_in_use() as table
select file_system, store_of(file_system) as store from (select file_system from files union select null);

-- What an access of the store costs, learnt from this run's own calls: of each file, for reads and for writes,
--
--	seconds of an access = latency + bytes * per_byte
--
-- A line through what accesses of each size took (geometric means: a few slow ones do not move it), fitted by least squares of
-- the relative error, so that small sizes say the latency and large ones the rate. `learnt` says of what, the first that holds:
--	sizes       accesses of this direction to files of the directory, whose sizes differ by 4 and more; of those below a page only a
--	            line no steeper than `page` allows: a steeper one is a few of rare sizes that lost their processor
--	direction   only one size there; the cost of a byte as in the other direction, the rest is latency
--	system      the file system's other directories; where they were twice as quick and more, only if nothing below holds
--	page        only sizes below 4,096 bytes: the kernel moves whole pages, so the bytes cost at most what a page's take, and at most
--	            what they do at the slowest rate of such a file system; the latency is then a lower bound
--	rate        only one size there, of 16 accesses and more, and it takes eight times as long and more than its bytes do at the slowest rate
--	            of such a file system (stores()): a volume may be throttled, though hardly so. And twice as long as with that rate shared
--	            by all processes there; what is beyond is latency. Small ones past the page cache (O_DIRECT) go to the device one by
--	            one: what takes twice as long as at the usual rate is mostly latency
-- Null where nothing of that is there. Time in which ranks waited for one another at the store is part of it: that is what an
-- access costs under this run's load. Columns: file, kind, latency (seconds), per_byte (seconds), half (bytes at
-- which both weigh the same: smaller ones are mostly latency; null: larger ones took no longer), learnt.
create or replace macro store_costs() as table
with point as (
	select
		p.directory, p.system, a.kind, a.bin, sum(a.n)::double as n, sum(a.bytes) / sum(a.n)::double as x,
		exp(sum(a.log_time) / sum(a.n)) / 1e9 as y
	from accesses() as a join places() as p using (file)
	where a.layer = 'posix'
	group by p.directory, p.system, a.kind, a.bin
	union all
	-- A stream of C passes large pieces on as they are, and gathers small ones in its buffer, a block of the file. Of a few blocks that says nothing.
	select p.directory, p.system, a.kind, a.bin, sum(a.n), sum(a.bytes) / sum(a.n), exp(sum(a.log_time) / sum(a.n)) / 1e9
	from accesses() as a join places() as p using (file)
	where a.layer = 'stdio' and a.time > 0 and a.bin >= 12
	group by p.directory, p.system, a.kind, a.bin
	union all
	select p.directory, p.system, a.kind, 12, sum(a.pages), 4096, exp(sum(a.pages * ln(a.page)) / sum(a.pages))
	from stream_pages() as a join places() as p using (file)
	where a.page > 0
	group by p.directory, p.system, a.kind
	having sum(a.pages) >= 16
),
-- The same points once for each directory, once for each file system.
grouped as (
	select directory as name, false as whole, * from point
	union all
	select system, true, system as directory, system, kind, bin, sum(n), sum(n * x) / sum(n), exp(sum(n * ln(y)) / sum(n))
	from point
	group by system, kind, bin
),
sums as (
	select
		name, whole, kind, max(x) >= 4 * min(x) as sizes, max(x) as largest,
		sum(w) as w, sum(w * x) as wx, sum(w * y) as wy, sum(w * x * x) as wxx, sum(w * x * y) as wxy,
		sum(n) as n, sum(n * x) / sum(n) as mean_size, exp(sum(n * ln(y)) / sum(n)) as mean_time
	from (select *, ln(1 + n) / (y * y) as w from grouped)
	group by name, whole, kind
),
line as (
	select
		*, (w * wxy - wx * wy) / nullif(w * wxx - wx * wx, 0) as slope, (wy * wxx - wx * wxy) / nullif(w * wxx - wx * wx, 0) as at_zero
	from sums
),
-- Neither part of a cost is below zero: then the other one is all of it.
fit as (
	select
		name, whole, kind, n, mean_size, mean_time,
		sizes and (largest >= 4096 or slope <= mean_time / 4096) as by_sizes,
		case when not by_sizes then null when slope <= 0 then wy / w when at_zero <= 0 then 0 else at_zero end as latency,
		case when not by_sizes then null when slope <= 0 then 0 when at_zero <= 0 then wxy / wxx else slope end as per_byte
	from line
),
known as (
	select
		this.name as directory, this.kind, this.n, this.mean_size, this.mean_time,
		case
			when this.latency is not null then {'latency': this.latency, 'per_byte': this.per_byte, 'learnt': 'sizes'}
			when other.latency is not null then {
				'latency': greatest(0, this.mean_time - this.mean_size * other.per_byte), 'per_byte': other.per_byte, 'learnt': 'direction'
			}
		end as of_directory
	from fit as this left join fit as other on not other.whole and this.name = other.name and this.kind <> other.kind
	where not this.whole
),
-- What a byte costs at most: at the slowest rate of such a file system, shared by all processes that are at it; and at least: no byte is free.
slowest as (
	select
		f.file, s.direction as kind, d.processes, d.direct, d.processes / s.rate_low as per_byte, 1 / s.rate_high as at_least,
		d.processes / sqrt(s.rate_low * s.rate_high) as usual
	from files as f join stores_in_use() as t on t.file_system is not distinct from f.file_system join stores() as s using (store)
		join places() as p on p.file = f.file join (
			select p.directory, a.kind, count(distinct a.process) as processes, bool_and(a.file in (from direct_files())) as direct
			from accesses() as a join places() as p using (file)
			group by all
		) as d on d.directory = p.directory and d.kind = s.direction
),
tried as (
	select
		k.*, p.file, s.processes, s.direct, s.per_byte as slowest, s.usual, coalesce(s.at_least, 0) as at_least,
		fit.latency + k.mean_size * fit.per_byte as as_system, least(k.mean_time / 4096, s.per_byte) as of_page,
		case when fit.latency is not null then {'latency': fit.latency, 'per_byte': fit.per_byte, 'learnt': 'system'} end as of_system
	from known as k join places() as p using (directory)
	left join fit on fit.whole and fit.name = p.system and fit.kind = k.kind left join slowest as s on s.file = p.file and s.kind = k.kind
),
cost as (
	select
		file, kind, at_least,
		coalesce(
			of_directory,
			case when mean_time <= 2 * as_system then of_system end,
			case when mean_size < 4096 then {'latency': mean_time - mean_size * of_page, 'per_byte': of_page, 'learnt': 'page'} end,
			case when n >= 16 and direct and mean_size <= 16384 and mean_time >= 2 * mean_size * usual then {
				'latency': mean_time - mean_size * usual, 'per_byte': usual, 'learnt': 'rate'
			} end,
			case when n >= 16 and mean_time >= greatest(8 / processes, 2) * mean_size * slowest then {
				'latency': mean_time - mean_size * slowest, 'per_byte': slowest, 'learnt': 'rate'
			} end,
			of_system
		) as c
	from tried
)
select file, kind, c.latency, greatest(c.per_byte, at_least) as per_byte, c.latency / nullif(c.per_byte, 0) as half, c.learnt
from cost
where c is not null;

-- Files that several processes read and wrote at the same time: from its first access to its last each has the file.
create or replace macro shared_files() as table
with each as (
	select file, process, min(coalesce(first, 0)) as first, max(coalesce(last, 9223372036854775807)) as last from accesses() group by file, process
)
select distinct file
from (
	select file, first < max(last) over (partition by file order by first, process rows between unbounded preceding and 1 preceding) as beside from each
)
where beside;

-- Of these the files that nobody writes.
create or replace macro read_together() as table
select file from (from shared_files()) where file not in (select file from counters where kind = 'write' and calls > errors and file is not null);

-- What an access costs: store_costs(), and where that has learnt nothing (all accesses of one size) the mean, all of it as cost
-- of bytes: then what fewer accesses would win is not counted. Columns: file, kind, latency, per_byte (seconds), half (bytes).
create or replace macro access_costs() as table
with mean as (
	select p.directory, a.kind, exp(sum(a.log_time) / sum(a.n)) / 1e9 / (sum(a.bytes) / sum(a.n)) as per_byte
	from accesses() as a join places() as p using (file)
	where a.layer = 'posix'
	group by p.directory, a.kind
)
select p.file, m.kind, coalesce(s.latency, 0) as latency, coalesce(s.per_byte, m.per_byte) as per_byte, s.half
from places() as p join mean as m using (directory) left join store_costs() as s on s.file = p.file and s.kind = m.kind;

-- Bytes of an access of which at most a tenth is latency: a power of two, from 4 KiB to 16 MiB.
create or replace macro large_piece(half) as
2 ** ceil(log2(greatest(4096, least(coalesce(9 * half, 16777216), 16777216))));

-- The program's own accesses that are mostly latency: smaller than `half` (store_costs(); 64 KiB where it is not known) and than a large
-- piece, each at or behind the end of the one before. Of each thread and file. Columns: path (place), file, what (read, write), process,
-- stream, n, bytes, latency, per_byte (seconds), piece (large_piece()), cost (seconds that accesses of these sizes take on this store, at
-- most what they took), extent (bytes of the file), least (accesses that are left when those of one file are joined: each pass over it takes
-- one for each piece), worst (`calls.id` of the longest), longest, fitted (the costs are told by sizes).
create or replace macro small_accesses() as table
with small as (
	select
		p.place as path, a.*, s.latency, s.per_byte, s.learnt = 'sizes' as fitted,
		-- A server's piece of the file is one request.
		least(16777216, greatest(large_piece(s.half), if(p.striped, p.block, coalesce(t.stripe_bytes, 0)))) as piece
	from accesses() as a join store_costs() as s using (file, kind) join places() as p using (file) join files as f using (file)
		join stores_in_use() as u on u.file_system is not distinct from f.file_system join stores() as t on t.store = u.store and t.direction = a.kind
	where a.own and a.layer = 'posix' and coalesce(a.place, 'on') <> 'back' and a.bytes / a.n < least(coalesce(s.half, 65536), piece)
)
select
	path, file, kind as what, process, stream, sum(n) as n, sum(bytes) as bytes, max(latency) as latency, max(per_byte) as per_byte, max(piece) as piece,
	sum(least(time / 1e9, n * latency + bytes * per_byte)) as cost,
	least(sum(bytes), coalesce(max(highest) - min(lowest), sum(bytes))) as extent,
	sum(bytes) / extent * ceil(extent / max(piece)) as least,
	max_by(worst, longest, 8) as worst, max(longest) as longest, bool_and(fitted) as fitted
from small
group by path, file, kind, process, stream;

-- What accesses of a kind cost beside others of the same directory, direction and size: the typical cost (geometric mean) of those that lie
-- as one wants. Columns: directory, kind, bin, on_end (seconds of an access that begins where the one before ended), on_page
-- (seconds of one that begins and ends at a multiple of 4,096). Of a size where none lies so, the next larger ones: they
-- cost no less. Null where nobody of that size or a larger one lies so.
create or replace macro matched_costs() as table
with sized as (
	select
		p.directory, a.kind, a.bin,
		exp(sum(a.log_time) filter (a.place = 'on') / sum(a.n) filter (a.place = 'on')) / 1e9 as on_end,
		exp(sum(a.log_time) filter (a.aligned) / sum(a.n) filter (a.aligned)) / 1e9 as on_page
	from accesses() as a join places() as p using (file)
	where a.layer = 'posix'
	group by p.directory, a.kind, a.bin
)
select
	directory, kind, bin,
	coalesce(on_end, min(on_end) over larger) as on_end,
	coalesce(on_page, min(on_page) over larger) as on_page
from sized
window larger as (partition by directory, kind order by bin rows between 1 following and unbounded following);

-- Reads and writes that do not lie as they might, and take half as long again as those that do. These are `matched_costs()`, of the same
-- directory, direction and size (or larger ones); fewer than 16, or less slow, is chance. Of each file and direction.
-- Columns: mistake (`order`: they do not begin where the one before ended; `page`: of a page and more, they do not begin and end at
-- multiples of 4,096), path, what, n, size, each, other (seconds of one; of one that lies well), calls, lost.
create or replace macro dearer() as table
with wrong as (
	select *, 'order' as mistake from accesses() where layer = 'posix' and place in ('ahead', 'back')
	union all
	select *, 'page' from accesses() where layer = 'posix' and not aligned and bin >= 12
),
apart as (
	select
		w.mistake, p.place as path, p.directory, w.kind as what, w.process, w.stream, w.bin, sum(w.n) as n, sum(w.bytes) as bytes,
		exp(sum(w.log_time) / sum(w.n)) / 1e9 as each, max_by(w.worst, w.longest, 8) as worst
	from wrong as w join places() as p using (file)
	group by w.mistake, p.place, p.directory, w.kind, w.process, w.stream, w.bin
),
beside as (
	select a.*, if(a.mistake = 'order', m.on_end, m.on_page) as well
	from apart as a join matched_costs() as m on m.directory = a.directory and m.kind = a.what and m.bin = a.bin
),
thread as (
	select
		mistake, path, what, process, stream, sum(n) as n, sum(bytes) as bytes, sum(n * each) as spent, sum(n * well) as other,
		flatten(list(worst)) as worst
	from beside
	where well is not null
	group by mistake, path, what, process, stream
)
select
	mistake,
	path,
	what,
	sum(n)::hugeint as n,
	sum(bytes) / sum(n) as size,
	sum(spent) / sum(n) as each,
	sum(other) / sum(n) as other,
	list_slice(flatten(list(worst)), 1, 8) as calls,
	max(spent - other) as lost
from thread
group by mistake, path, what
having sum(n) >= 16 and sum(spent) > 1.5 * sum(other);

-- Reads, by the very bytes they asked for: how often each process read them. Of files in which somebody went back or that several
-- processes read, and that nobody writes once reading began (what is read then may be new); of more than 2 million such reads a
-- part of the places, by a hash of the offset, stands for all
-- (`scale`). Columns: process, file, file_offset, bytes, n, time (ns, of all n), worst (a `calls.id`), longest (ns), scale.
create or replace macro reread() as table
with candidate as (
	select file, sum(n) filter (kind = 'read') as n
	from accesses()
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
group by c.process, c.file, c.file_offset, c.bytes;

-- The program's own I/O calls: those that no other recorded call holds but a region, or a wait for threads. Of each process and function.
-- Columns: process, rank, layer, op, kind, calls, bytes, time (ns).
create or replace macro own_by_process() as table
select
	process,
	any_value(p.rank) as rank,
	c.layer,
	c.op,
	c.kind,
	sum(c.calls)::hugeint as calls,
	sum(c.bytes)::hugeint as bytes,
	sum(c.time)::hugeint as time
from own_counters() as c join processes as p using (process)
group by process, c.layer, c.op, c.kind;

-- How long each rank waited for others: its own MPI communication and its own collective I/O, MPI's start left out. Ranks are processes of
-- an MPI job; a null time: communication was not even counted. Columns: process, rank, waited (ns).
create or replace macro waited_for_others() as table
with counted as (
	select count(*) > 0 as any_ from counters where layer = 'mpi'
),
own as (
	select c.process, sum(c.time)::hugeint as waited
	from counters as c left join ops as o on o.layer = c.layer and o.op = c.op
	where is_outermost(enclosing_layer, enclosing)
		and (c.layer = 'mpi' and c.op not like 'MPI_Init%' or is_library(c.layer) and o.collective)
	group by c.process
)
select p.process, p.rank, if(counted.any_, coalesce(own.waited, 0), null) as waited
from processes as p left join own using (process), counted
where p.rank is not null;

-- Blocks or stripes in which writes of several processes begin or end: each of them has to be locked and called back.
-- Columns: file, piece (number of the block in the file).
create or replace macro fought() as table
with several as (
	select file from counters where layer = 'posix' and kind = 'write' and file is not null group by file having count(distinct process) > 1
),
edge as (
	select c.process, c.file, unnest([c.file_offset, c.file_offset + c.bytes]) as byte, p.block
	from calls as c join several using (file) join places() as p using (file)
	where c.layer = 'posix' and c.kind = 'write' and c.bytes > 0 and c.error = 0 and c.file_offset is not null
)
select file, byte // block as piece
from edge
where byte % block <> 0
group by file, piece
having min(process) <> max(process);

-- The longest of the own I/O calls of each process, to be named as examples. processes_of: name of rows `process`.
create or replace macro longest_own_calls(processes_of) as table
select process, max_by(id, duration, 8) as calls
from calls
where process in (select process from query_table(processes_of))
	and depth = 0 and kind in ('open', 'read', 'write', 'sync', 'close') and layer not in ('mpi', 'fathom', 'user', 'threads')
group by process;
