-- Many runs in one table: the I/O of each rank, and to whom time and bytes belong.

-- To whom an amount belongs, as dominance.py says it. amounts_of: name of rows of `unit` and `amount`; units_of: of rows of `unit`, all
-- there are. `how`: none, one, some, all; `units`: the fewest that hold the share `hold`, and those that have the share `half` of the
-- least of these; `share`: that they hold; `callers`: how many are among the amounts.
create or replace macro dominance(amounts_of, units_of, hold, half) as table
with amounts as materialized (from query_table(amounts_of)),
each as (
	select unit, coalesce(sum(amount), 0) as amount
	from (select unit, amount from amounts union all select unit, 0 from query_table(units_of))
	group by unit
),
held as (
	select unit, amount, sum(amount) over () as total, sum(amount) over (order by amount desc, unit rows unbounded preceding) - amount as before
	from each
),
needed as (
	select *, min(amount) filter (before < hold * total) over () as least from held
),
judged as (
	select *, before < hold * total or amount >= half * least as dominates from needed
)
select
	case
		when coalesce(any_value(total), 0) <= 0 then 'none'
		when count(*) filter (dominates) = 1 then 'one'
		when bool_and(dominates) then 'all'
		else 'some'
	end as how,
	coalesce(list(unit order by unit) filter (total > 0 and dominates), []) as units,
	count(*) as everyone,
	coalesce(sum(amount) filter (dominates) / nullif(any_value(total), 0), 0)::double as share,
	(select count(distinct unit) from amounts) as callers
from judged;

-- Counters of the calls that a landscape is of: the program's own I/O calls or, when of_layer names one, that layer's, whoever made
-- them; of one rank, when of_rank names it. What MPI does to start, to end and to communicate is none.
create or replace macro landscape_counters(of_layer := null, of_rank := null) as table
select
	c.*,
	f.path,
	case when c.kind in ('open', 'close', 'read', 'write') then c.kind else 'other' end as operation
from counters as c left join files as f using (file)
where is_io(c.layer, c.kind) and is_file(f.kind, f.path, f.file_system)
	and case
		when of_layer::varchar is null or enclosing is null then is_outermost(enclosing_layer, enclosing)
		else enclosing_layer not in (of_layer, 'mpi')
			and not is_communication(enclosing_layer, enclosing)
	end
	and (of_layer::varchar is null or c.layer = of_layer)
	and (of_rank::bigint is null or c.process in (select process from processes where rank = of_rank::bigint));

-- Time and bytes of each file by operation, and its group: by suffix, else by name.
create or replace macro landscape_files(of_layer := null, of_rank := null) as table
with io as (from landscape_counters(of_layer, of_rank))
select
	io.path,
	any_value(coalesce(file_suffix(f.path), file_group(f.path))) as file_group,
	coalesce(sum(time), 0) as time,
	coalesce(sum(time) filter (operation = 'open'), 0) as open,
	coalesce(sum(time) filter (operation = 'close'), 0) as close,
	coalesce(sum(time) filter (operation = 'read'), 0) as read,
	coalesce(sum(time) filter (operation = 'write'), 0) as write,
	coalesce(sum(time) filter (operation = 'other'), 0) as other,
	coalesce(sum(bytes) filter (operation = 'read'), 0) as bytes_read,
	coalesce(sum(bytes) filter (operation = 'write'), 0) as bytes_written
from io join files as f using (file)
where f.kind in ('regular', 'unknown')
group by io.path
order by time desc, io.path;

-- Time of each function, the most first; `unfiled` is that of calls whose file was not recorded (level job).
create or replace macro landscape_functions(of_layer := null, of_rank := null) as table
with io as (from landscape_counters(of_layer, of_rank))
select
	operation,
	layer,
	op,
	sum(calls) as calls,
	sum(time) as time,
	coalesce(sum(time) filter (file is null), 0) as unfiled
from io
group by operation, layer, op
order by time desc, op;

-- Where the ranks ran, or the processes of a run without: nodes, and the least and the most of them on one.
create or replace macro landscape_nodes() as table
with each as (
	select node, count(distinct coalesce(rank, process)) as units
	from processes
	where rank is not null or not exists (select 1 from processes where rank is not null)
	group by node
)
select count(*) as nodes, min(units) as least_on_node, max(units) as most_on_node from each;

-- Did a process make I/O calls in several threads?
create or replace macro landscape_threads(of_layer := null) as table
select count(*) as n from landscape_counters(of_layer) where thread_class = 'other' and time > 0;

-- No process whose threads' union is needed: for landscape_units().
create or replace macro no_unions() as table
select null::uinteger as process, null::hugeint as busy limit 0;

-- I/O of each rank, or of each process where there are no ranks; processes outside MPI of an MPI run are left out. A thread's outermost
-- calls never overlap, so their sum is the time during which one of them ran (`busy`), but for what the other threads did beside the first
-- (`uncertain`: it may be that much less), unless the union of the process's threads is known: unions_of is the name of rows `process`, `busy`.
-- A rank is all processes that it ran in.
create or replace macro landscape_units(of_layer, by_rank, unions_of) as table
with io as (from landscape_counters(of_layer)),
summed as (
	select
		process,
		any_value(p.rank) as rank,
		coalesce(sum(io.calls), 0) as calls,
		coalesce(sum(io.recorded), 0) as recorded,
		coalesce(sum(io.time), 0) as time,
		coalesce(sum(io.time) filter (thread_class = 'other'), 0) as beside,
		coalesce(sum(io.time) filter (operation = 'open'), 0) as open,
		coalesce(sum(io.time) filter (operation = 'close'), 0) as close,
		coalesce(sum(io.time) filter (operation = 'read'), 0) as read,
		coalesce(sum(io.time) filter (operation = 'write'), 0) as write,
		coalesce(sum(io.time) filter (operation = 'other'), 0) as other
	from processes as p left join io using (process)
	group by process
),
united as (
	select s.process, u.busy
	from summed as s join query_table(unions_of) as u using (process)
	where s.beside > 0 and s.recorded = s.calls
),
image as (
	-- Sums of threads that a log of Darshan does not tell apart may be longer than the run.
	select s.*, u.busy, greatest(0, s.time - (select duration from runs)) as longer
	from summed as s left join united as u using (process)
	where if(by_rank, s.rank is not null, s.calls > 0)
)
select
	if(by_rank, image.rank, process) as unit,
	sum(calls) as calls,
	sum(coalesce(busy, time - longer)) as busy,
	sum(if(busy is null, greatest(0, beside - longer), 0)) as uncertain,
	sum(open) as open,
	sum(close) as close,
	sum(read) as read,
	sum(write) as write,
	sum(other) as other,
	sum(bytes_read) as bytes_read,
	sum(bytes_written) as bytes_written
from image join bytes_moved() as moved using (process)
group by unit;

-- I/O of all ranks together, of the one with the most, and to whom time and bytes belong, by dominance().
create or replace macro landscape_together(of_layer, by_rank, unions_of, hold, half) as table
with io_of as materialized (from landscape_units(of_layer, by_rank, unions_of)),
time_of as (
	select unit, busy as amount from io_of
),
bytes_of as (
	select unit, bytes_read + bytes_written as amount from io_of
),
sums as (
	select
		count(*) as units,
		coalesce(sum(busy), 0) as busy,
		coalesce(max(busy), 0) as most,
		first(unit order by busy desc, unit) as most_unit,
		coalesce(sum(uncertain), 0) as uncertain,
		coalesce(sum(open), 0) as open,
		coalesce(sum(close), 0) as close,
		coalesce(sum(read), 0) as read,
		coalesce(sum(write), 0) as write,
		coalesce(sum(other), 0) as other,
		coalesce(sum(bytes_read), 0) as bytes_read,
		coalesce(sum(bytes_written), 0) as bytes_written
	from io_of
)
select sums.*, time_by, bytes_by from sums, dominance('time_of', 'io_of', hold, half) as time_by, dominance('bytes_of', 'io_of', hold, half) as bytes_by;

-- Of each process: ns of its I/O, of opening, writing and closing, and bytes, in files that path_glob matches.
create or replace macro landscape_measures(path_glob := null) as table
with io as (from landscape_counters())
select
	process,
	coalesce(sum(time), 0) as io,
	coalesce(sum(time) filter (operation in ('open', 'write', 'close')), 0) as write,
	coalesce(sum(bytes) filter (operation = 'write'), 0) as bytes_written,
	coalesce(sum(bytes) filter (operation = 'read'), 0) as bytes_read,
	list(distinct io.path) filter (operation = 'write') as written
from io join files as f using (file)
where f.kind in ('regular', 'unknown') and (path_glob::varchar is null or io.path glob path_glob)
group by process;
