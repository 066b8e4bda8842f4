-- Collective calls of MPI-IO: who moved the bytes, how the file was dealt out, where the time went. Times in ns.

-- Each rank's call of every collective read or write of MPI-IO: `waited` is what passed before the last rank came.
create or replace macro collective_parts() as table
select
	c.collective, c.id, c.process, c.rank, c.kind, c.file, c.duration,
	greatest(coalesce(c.bytes, 0), 0) as bytes,
	least(greatest(o.last_enter - c.start, 0), c.duration) as waited,
	o.last_enter
from calls as c join collectives as o using (collective)
where c.layer = 'mpiio' and o.layer = 'mpiio' and c.kind in ('read', 'write');

-- System calls on its file below each rank's part of a collective one. `main`: in the direction of the call; what a write reads is
-- there to be written back with new bytes in it. `early`: of its time, what passed before the last rank came.
create or replace macro collective_system_calls() as table
select
	p.collective, p.process, p.rank, s.kind, s.kind = p.kind as main, s.id, s.file_offset, s.bytes, s.duration,
	greatest(least(s.start + s.duration, p.last_enter) - s.start, 0) as early
from collective_parts() as p join calls as s on s.parent = p.id and s.file = p.file
where s.layer = 'posix' and s.kind in ('read', 'write') and s.error = 0 and s.bytes > 0;

-- Bytes that each process's system calls moved for each process's part of a collective call: the links `carries`.
create or replace macro collective_carried() as table
select p.collective, s.process as aggregator, p.process, any_value(p.rank) as rank, sum(l.bytes) as bytes, min(l.confidence) as confidence
from links as l
join collective_parts() as p on p.id = l.to_call
join streams as s on s.stream = l.from_call >> 40
where l.kind = 'carries'
group by p.collective, s.process, p.process;

-- Of each collective call's file: the unit that file domains were asked to be aligned to, and the aggregators asked for and in force.
create or replace macro collective_units() as table
select
	o.collective,
	max(try_cast(h.value as bigint)) filter (h.key = 'striping_unit') as unit,
	max(h.value) filter (h.key = 'cb_nodes' and h.source = 'asked') as cb_nodes_asked,
	max(h.value) filter (h.key = 'cb_nodes' and h.source = 'in force') as cb_nodes,
	max(h.value) filter (h.key = 'cb_config_list' and h.source = 'asked') as cb_config_list_asked,
	max(h.value) filter (h.key = 'cb_config_list' and h.source = 'in force') as cb_config_list,
	max(try_cast(h.value as bigint)) filter (h.key = 'cb_buffer_size' and h.source = 'in force') as cb_buffer_size
from collectives as o join hints_in_force as h using (file)
where o.layer = 'mpiio' and h.key in ('striping_unit', 'cb_nodes', 'cb_config_list', 'cb_buffer_size')
group by o.collective;

-- Processes whose every MPI file is ROMIO's, and was heard to be: ROMIO copies the communicator at each open. Its exchange is seen.
create or replace macro romio_processes() as table
select process
from counters
where layer = 'mpiio' and op = 'MPI_File_open' or enclosing_layer = 'mpiio' and enclosing = 'MPI_File_open' and op = 'MPI_Comm_dup'
group by process
having sum(calls) filter (op = 'MPI_Comm_dup') >= greatest(1, sum(calls - errors) filter (op = 'MPI_File_open'));

-- Each collective read or write of MPI-IO: who moved its bytes, how the file was dealt out to them, where its time went.
-- Where no aggregator's span reaches into another's, the file is cut in as many pieces, and the borders say how (`domains`). Elsewhere
-- stripes are dealt out in turn, to all aggregators or within groups of them; of a run with more than a million such system calls the
-- first of each group are looked at.
create or replace macro collective_operations() as table
with parts as (from collective_parts()),
below as (from collective_system_calls()),
units as (from collective_units()),
carried as (from collective_carried()),
-- The library's own communication, where it was recorded and is all of it.
exchanged as (
	select p.collective, sum(greatest(s.start + s.duration - greatest(s.start, p.last_enter), 0)) as exchange
	from parts as p join calls as s on s.parent = p.id
	where s.layer = 'mpi' and p.process in (select process from romio_processes())
	group by p.collective
),
moved as (
	select
		collective,
		process,
		any_value(rank) as rank,
		count(*) filter (main) as calls,
		coalesce(sum(bytes) filter (main), 0) as bytes,
		count(*) filter (not main) as others,
		coalesce(sum(bytes) filter (not main), 0) as other_bytes,
		max(bytes) filter (main) as largest,
		sum(duration) as time,
		sum(early) as early
	from below
	group by collective, process
),
aggregators as (
	select
		collective,
		count(*) filter (m.calls > 0) as aggregators,
		count(distinct p.node) filter (m.calls > 0) as nodes,
		list(m.rank order by m.rank) filter (m.calls > 0) as ranks,
		min(m.bytes) filter (m.calls > 0) as least_bytes,
		max(m.bytes) as most_bytes,
		sum(m.bytes) as moved,
		sum(m.calls) as system_calls,
		max(m.calls) as rounds,
		max(largest) as chunk,
		sum(m.others) as back_calls,
		sum(m.other_bytes) as back_bytes,
		sum(m.time) as io,
		sum(m.early) as early
	from moved as m join processes as p using (process)
	group by collective
),
ranks as (
	select
		p.collective,
		any_value(p.kind) as kind,
		sum(p.bytes) as bytes,
		sum(p.duration) as time,
		sum(p.waited) as waited,
		-- each moved as much as it asked for: nobody moved anything for another
		bool_and(p.bytes = coalesce(m.bytes, 0)) as alone
	from parts as p left join moved as m using (collective, process)
	group by p.collective
),
carriers as (
	select
		collective,
		sum(bytes) as linked,
		sum(bytes) filter (aggregator <> process) as for_others,
		min(confidence) as confidence
	from carried
	group by collective
),
-- Nobody moved anything for another: links say so, or, where there are none, each moved as much as it asked for.
independent as (
	select collective
	from ranks left join carriers using (collective)
	where case when linked is null then alone else linked = bytes and for_others is null end
),
-- What ranks did that were not recorded is not known.
in_part as (
	select collective from collectives where ranks_seen < ranks_expected
),
together as (
	select collective from aggregators where aggregators > 0 and collective not in (from independent)
),
spans as (
	select collective, process, min(file_offset) as low, max(file_offset + bytes) as high, count(*) as calls
	from below
	where main and file_offset is not null and collective in (from together)
	group by collective, process
),
-- Groups: aggregators whose spans reach into one another's.
grouped as (
	select *, count(*) filter (apart) over (partition by collective order by low, process rows unbounded preceding) as part
	from (
		select
			*,
			low >= coalesce(max(high) over (
				partition by collective order by low, process rows between unbounded preceding and 1 preceding
			), low) as apart
		from spans
	)
),
groups as (
	select collective, part, count(*) as members, min(low) as low, max(high) as high, sum(calls) as calls
	from grouped
	group by collective, part
),
extents as (
	select collective, sum(members) as aggregators, count(*) as parts, min(low) as low, max(high) as high
	from groups
	group by collective
),
-- Between two pieces the border lies somewhere from the end of the one to the begin of the other.
borders as (
	select
		g.collective,
		e.low + (row_number() over pieces - 1) * ceil((e.high - e.low) / e.aggregators) as even_byte,
		lag(g.high) over pieces as from_byte,
		g.low as to_byte
	from grouped as g join extents as e using (collective)
	where e.parts = e.aggregators
	window pieces as (partition by g.collective order by g.low)
	qualify from_byte is not null
),
cut as (
	select
		b.collective,
		bool_and(even_byte between from_byte and to_byte) as even,
		-- the largest power of two that a border can be a multiple of: the first bit in which the two differ
		min(floor(log2(greatest(xor(greatest(from_byte, 1) - 1, to_byte), 1))))::integer as shift,
		bool_and(u.unit > 0 and to_byte // u.unit * u.unit >= from_byte) as on_units
	from borders as b left join units as u using (collective)
	group by b.collective
),
dealt_calls as (
	select b.collective, g.part, b.process, b.file_offset as low, b.file_offset + b.bytes as high, b.id
	from below as b
	join grouped as m using (collective, process)
	join groups as g on g.collective = m.collective and g.part = m.part
	join extents as e on e.collective = g.collective
	where b.main and e.parts < e.aggregators
	and b.file_offset <= g.low + (g.high - g.low) * greatest(4096 / g.calls, 1e6 / (select sum(calls) from groups where members > 1))
),
-- What one aggregator moved side by side, or with holes that nobody moved.
stretches as (
	select collective, part, stretch, any_value(process) as process, min(low) as low, max(high) as high
	from (
		select *, count(*) filter (begins) over (partition by collective, part order by low, id rows unbounded preceding) as stretch
		from (
			select *, (process is distinct from lag(process) over (partition by collective, part order by low, id)) as begins
			from dealt_calls
		)
	)
	group by collective, part, stretch
),
stripes as (
	select collective, coalesce(max(nullif(u.unit, 0)), commonest(high - low)) as stripe
	from stretches left join units as u using (collective)
	group by collective
),
turns as (
	select
		s.collective,
		s.part,
		s.process,
		any_value(g.members) as members,
		min(s.low // t.stripe % g.members) as turn,
		max(s.low // t.stripe % g.members) as last_turn,
		max((s.high - 1) // t.stripe - s.low // t.stripe) as crossed
	from stretches as s join stripes as t using (collective) join groups as g on g.collective = s.collective and g.part = s.part
	group by s.collective, s.part, s.process
),
dealt as (
	select
		collective,
		count(distinct part) as parts,
		min(members) as members,
		bool_and(turn = last_turn and crossed = 0) and count(*) = count(distinct row(part, turn)) as in_turn
	from turns
	group by collective
),
domains as (
	select
		e.collective,
		case
			when e.aggregators = 1 then 'one'
			when c.even then 'even'
			when c.on_units or c.shift >= 12 then 'aligned'
			when d.in_turn and d.parts = 1 then 'round-robin by stripe'
			when d.in_turn and d.members > 1 then 'group'
			else 'unknown'
		end as domains,
		1::bigint << c.shift as aligned_bytes,
		case when d.in_turn then t.stripe end as stripe_bytes
	from extents as e
	left join cut as c using (collective)
	left join dealt as d using (collective)
	left join stripes as t using (collective)
)
select
	o.collective,
	o.op,
	r.kind as operation,
	f.path,
	o.first_enter as start,
	o.last_leave - o.first_enter as elapsed,
	o.ranks_expected as ranks,
	o.ranks_seen,
	r.bytes::hugeint as bytes,
	if(n.collective is null, coalesce(a.aggregators, 0), null) as aggregators,
	if(n.collective is null, a.ranks, null) as aggregator_ranks,
	if(n.collective is null, coalesce(a.nodes, 0), null) as aggregator_nodes,
	u.cb_nodes_asked, u.cb_nodes, u.cb_config_list_asked, u.cb_config_list, u.cb_buffer_size,
	a.least_bytes::hugeint as aggregator_least_bytes,
	a.most_bytes::hugeint as aggregator_most_bytes,
	case
		when r.bytes = 0 then 'nothing'
		when a.aggregators is null or n.collective is not null then 'unknown'
		when o.collective in (from independent) then 'independent'
		else coalesce(d.domains, 'unknown')
	end as domains,
	d.aligned_bytes,
	d.stripe_bytes,
	a.chunk as chunk_bytes,
	coalesce(a.system_calls, 0)::bigint as system_calls,
	coalesce(a.rounds, 0) as rounds,
	coalesce(a.moved, 0)::hugeint as moved_bytes,
	coalesce(a.back_calls, 0)::bigint as back_calls,
	coalesce(a.back_bytes, 0)::hugeint as back_bytes,
	c.linked::hugeint as linked_bytes,
	if(n.collective is null, coalesce(c.for_others, 0), null)::hugeint as for_others_bytes,
	c.confidence,
	r.time::hugeint as time,
	if(n.collective is null, greatest(r.waited - coalesce(a.early, 0), 0), null)::hugeint as wait,
	x.exchange::hugeint as exchange,
	coalesce(a.io, 0)::hugeint as io
from collectives as o
join ranks as r using (collective)
left join aggregators as a using (collective)
left join units as u using (collective)
left join domains as d using (collective)
left join carriers as c using (collective)
left join exchanged as x using (collective)
left join in_part as n using (collective)
left join files as f on f.file = o.file
order by elapsed desc, o.collective;

-- Collective reads and writes by function and file: how their time was spent, summed over ranks. The exchange is that of
-- counters, less the time in which ranks waited in it for the last one.
create or replace macro collective_functions() as table
with operations as (from collective_operations()),
of_functions as (
	select
		op,
		sum(time) filter (layer = 'mpi') as exchange,
		bool_and(known) as known
	from (
		select enclosing as op, layer, time, process in (from romio_processes()) as known
		from counters
		where enclosing_layer = 'mpiio' and layer in ('mpi', 'posix')
	)
	group by op
),
each as (
	select
		op,
		operation,
		path,
		count(*) as operations,
		max(ranks) as ranks,
		sum(bytes) as bytes,
		min(aggregators) as least_aggregators,
		max(aggregators) as aggregators,
		max(aggregator_nodes) as aggregator_nodes,
		list(distinct domains order by domains) as domains,
		max(chunk_bytes) as chunk_bytes,
		sum(system_calls) as system_calls,
		max(rounds) as rounds,
		sum(elapsed) as elapsed,
		sum(time) as time,
		if(count(wait) = count(*), sum(wait), null) as wait,
		sum(io) as io
	from operations
	group by op, operation, path
),
whole as (
	select op, sum(time) as time, if(count(wait) = count(*), sum(wait), null) as wait, count(*) as files
	from each
	group by op
)
select
	e.op,
	operation,
	path,
	operations,
	ranks,
	e.bytes::hugeint as bytes,
	least_aggregators,
	aggregators,
	aggregator_nodes,
	e.domains,
	chunk_bytes,
	system_calls::bigint as system_calls,
	rounds,
	elapsed::hugeint as elapsed,
	e.time::hugeint as time,
	e.wait::hugeint as wait,
	-- counters know the function of all ranks, not the file: only one file's share is sure, and of operations seen of all ranks
	case when c.known and w.files = 1 and w.wait is not null then greatest(c.exchange - w.wait, 0) end::hugeint as exchange,
	e.io::hugeint as io
from each as e join whole as w using (op) left join of_functions as c using (op)
order by time desc, op, path;

-- Each aggregator of each file and function: what it moved, of its own and of which other ranks.
create or replace macro collective_aggregators() as table
with below as (from collective_system_calls()),
carried as (from collective_carried()),
moved as (
	select collective, process, count(*) as calls, sum(bytes) as bytes, sum(duration) as time
	from below
	where main
	group by collective, process
),
served as (
	select
		o.file,
		o.op,
		c.aggregator as process,
		sum(c.bytes) as linked,
		sum(c.bytes) filter (c.process = c.aggregator) as own,
		list(distinct c.rank order by c.rank) as ranks,
		min(c.confidence) as confidence,
		-- of others it may have moved more
		bool_or(o.ranks_seen < o.ranks_expected) as in_part
	from carried as c join collectives as o using (collective)
	group by o.file, o.op, c.aggregator
),
each as (
	select
		o.file,
		o.op,
		m.process,
		count(*) as operations,
		sum(m.calls) as system_calls,
		sum(m.bytes) as bytes,
		sum(m.time) as time
	from moved as m join collectives as o using (collective)
	group by o.file, o.op, m.process
)
select
	p.rank,
	p.process,
	n.host,
	e.op,
	f.path,
	e.operations,
	e.system_calls::bigint as system_calls,
	e.bytes::hugeint as bytes,
	s.linked::hugeint as linked_bytes,
	case when s.linked is not null and not s.in_part then coalesce(s.own, 0)::bigint end as own_bytes,
	if(s.in_part, null, s.ranks) as of_ranks,
	if(s.in_part, null, s.confidence) as confidence,
	e.time::hugeint as time
from each as e
join processes as p using (process)
left join nodes as n using (node)
left join files as f on f.file = e.file
left join served as s on s.file is not distinct from e.file and s.op = e.op and s.process = e.process
order by e.bytes desc, f.path, e.op, p.rank;

-- Each collective MPI-IO function, and each other below which the library communicated: of its time, what was exchange (the
-- library's own MPI calls), what was I/O of files, and the rest. The exchange is known of processes that use ROMIO. Sockets that MPI
-- itself reads are no I/O.
create or replace macro collective_exchange() as table
with romio as (from romio_processes()),
below as (
	select
		process,
		enclosing as op,
		sum(time) filter (layer = 'mpi') as exchange,
		sum(time) filter (is_system(layer) and coalesce(f.kind, '') not in ('socket', 'fifo')) as posix
	from counters left join files as f using (file)
	where enclosing_layer = 'mpiio'
	group by process, enclosing
),
own as (
	select process, op, sum(calls) as calls, sum(time) as time
	from counters
	where layer = 'mpiio' and (
		op in (select op from ops where layer = 'mpiio' and collective)
		or op in (select op from below where exchange > 0)
	)
	group by process, op
)
select
	op,
	sum(calls) as calls,
	sum(time) as time,
	coalesce(sum(exchange), 0) as exchange,
	coalesce(sum(posix), 0) as posix,
	bool_and(process in (from romio)) as known
from own left join below using (process, op)
group by op
order by time desc, op;

-- Collective operations, and of how many ranks each was seen.
create or replace macro collective_joined() as table
select
	layer,
	op,
	count(*) as operations,
	count(*) filter (ranks_seen < ranks_expected) as incomplete,
	count(*) filter (not agreed) as disagreeing,
	min(ranks_seen) as ranks_seen,
	max(ranks_expected) as ranks_expected
from collectives
group by layer, op
order by layer, op;

-- What functions of MPI-IO asked for of each file, and what system calls inside them moved of it: by counters, so at levels file
-- and call. A write's reads fetch what it leaves as it was, to write it back; locks keep others away meanwhile.
create or replace macro sieved_functions() as table
with asked as (
	select op, file, any_value(kind) as operation, sum(calls) as calls, sum(bytes) as bytes
	from counters
	where layer = 'mpiio' and kind in ('read', 'write') and file is not null
	group by op, file
),
below as (
	select
		enclosing as op,
		file,
		sum(calls) filter (kind = 'read') as reads,
		sum(bytes) filter (kind = 'read') as bytes_read,
		sum(calls) filter (kind = 'write') as writes,
		sum(bytes) filter (kind = 'write') as bytes_written,
		sum(unaligned_file) filter (kind in ('read', 'write')) as unaligned,
		sum(calls) filter (op in ('fcntl', 'flock', 'lockf')) as locks,
		sum(time) filter (op in ('fcntl', 'flock', 'lockf')) as lock_time
	from counters
	where layer = 'posix' and enclosing_layer = 'mpiio'
	group by enclosing, file
)
select
	a.op,
	f.path,
	a.operation,
	a.calls::bigint as calls,
	a.bytes::hugeint as bytes,
	coalesce(b.reads, 0)::bigint as reads,
	coalesce(b.bytes_read, 0)::hugeint as bytes_read,
	coalesce(b.writes, 0)::bigint as writes,
	coalesce(b.bytes_written, 0)::hugeint as bytes_written,
	coalesce(b.unaligned, 0)::bigint as unaligned,
	coalesce(b.locks, 0)::bigint as locks,
	coalesce(b.lock_time, 0)::hugeint as lock_time
from asked as a left join below as b using (op, file) left join files as f using (file)
order by bytes_read + bytes_written - a.bytes desc, path, op;

-- Calls of MPI-IO inside which more was moved than they asked for: the most first. A collective call's ranks move one another's
-- bytes, so they count together, as the call of the first.
create or replace macro sieved_calls() as table
with data as (
	select id, collective, rank, op, kind, file, start, greatest(coalesce(bytes, 0), 0) as bytes, duration
	from calls
	where layer = 'mpiio' and kind in ('read', 'write') and file is not null
),
below as (
	select
		s.parent as id,
		sum(s.bytes) filter (s.kind = 'read' and s.bytes > 0 and s.file = d.file) as bytes_read,
		sum(s.bytes) filter (s.kind = 'write' and s.bytes > 0 and s.file = d.file) as bytes_written,
		count(*) filter (s.kind = 'read' and s.file = d.file) as reads,
		count(*) filter (s.kind = 'write' and s.file = d.file) as writes,
		count(*) filter (s.op in ('fcntl', 'flock', 'lockf')) as locks,
		sum(s.duration) filter (s.op in ('fcntl', 'flock', 'lockf')) as lock_time
	from calls as s join data as d on s.parent = d.id
	where s.layer = 'posix' and (s.kind in ('read', 'write') or s.op in ('fcntl', 'flock', 'lockf'))
	group by s.parent
),
together as (
	select
		min(d.id) as call,
		d.collective,
		count(*) as ranks,
		case when count(*) = 1 then any_value(d.rank) end as rank,
		any_value(d.op) as op,
		any_value(d.kind) as operation,
		any_value(d.file) as file,
		min(d.start) as start,
		sum(d.bytes) as bytes,
		sum(coalesce(b.reads, 0)) as reads,
		sum(coalesce(b.bytes_read, 0)) as bytes_read,
		sum(coalesce(b.writes, 0)) as writes,
		sum(coalesce(b.bytes_written, 0)) as bytes_written,
		sum(coalesce(b.locks, 0)) as locks,
		sum(coalesce(b.lock_time, 0)) as lock_time,
		sum(d.duration) as time
	from data as d left join below as b using (id)
	group by d.collective, case when d.collective is null then d.id end
)
select
	call,
	rank,
	ranks,
	t.op,
	operation,
	f.path,
	start,
	bytes::hugeint as bytes,
	reads::bigint as reads,
	bytes_read::hugeint as bytes_read,
	writes::bigint as writes,
	bytes_written::hugeint as bytes_written,
	locks::bigint as locks,
	lock_time::hugeint as lock_time,
	time::hugeint as time
from together as t left join files as f using (file)
where bytes_read + bytes_written > bytes or locks > 0
order by bytes_read + bytes_written - bytes desc, start
limit 10000;
