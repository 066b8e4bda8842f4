-- State that is saved again and again, as checkpoints are. Files are made, written once from their start to their end, and closed; then others, or the
-- same anew. Told by calls; what is in a name says nothing, how many numbers does. From calls recorded in full; times in ns.

-- Each time that a file was made and written as a whole, by however many processes. It lasts from the call that made or emptied it to the next such
-- call. Columns: file, name (the last one that it got), place (as places()), number (of this file's), began, ended (of the last call on it), until,
-- bytes, main (longest time that a process's main thread spent in calls on it), process (that one), writers (processes), layer (of the outermost
-- write), emptied (it had been written before, and was written over), renamed, synced, synced_first (after the last write and before it was renamed).
create or replace macro saves() as table
with rename as (
	select o.name, c.start, a.text as target
	from calls as c join objects as o using (object) join args as a on a.call = c.id and a.name = 'to'
	where c.layer = 'posix' and c.op like 'rename%' and c.error = 0
),
opened as (
	select o.file, o.name, coalesce(w.start, c.start) as start, o.flags & 512 <> 0 as is_emptied
	from objects as o join calls as c on c.id = o.created_by left join calls as w on w.id = c.own
	where o.class in ('descriptor', 'stream') and o.flags & 64 <> 0 and o.flags & 3 <> 0 and c.error = 0 and o.file is not null
),
-- Of those side by side only one that empties the file begins anew.
begun as (
	select *, row_number() over (partition by file order by start) as ordinal from opened qualify ordinal = 1 or is_emptied
),
span as (
	select
		p.place, b.file, b.name, row_number() over each_file as number, b.start as began,
		least(
			coalesce(lead(b.start) over each_file, 9223372036854775807),
			coalesce(lead(b.start) over (partition by b.name order by b.start), 9223372036854775807)
		) as until
	from begun as b join places() as p using (file)
	window each_file as (partition by b.file order by b.start)
	-- What was made once, under a name that it kept, is looked at no further.
	qualify count(*) over (partition by p.place) > 1 or b.name in (select name from rename)
),
each as (
	select
		s.place, s.file, s.name, s.number, s.began, s.until, c.id, c.process, c.layer, c.op, c.kind, c.start, c.duration, c.bytes, c.file_offset,
		is_outermost_call(c.depth, c.parent) as own, c.thread = p.pid as is_main, is_system(c.layer) and c.error = 0 as moves
	from span as s join calls as c on c.file = s.file and c.start >= s.began and c.start < s.until join processes as p using (process)
	where c.layer not in ('fathom', 'user', 'threads', 'mpi', 'server', 'disk')
),
main as (
	select file, number, max(time) as main, arg_max(process, time) as process
	from (select file, number, process, sum(duration) as time from each where own and is_main group by all)
	group by all
),
whole as (
	select
		place, file, any_value(name) as name, number, any_value(began) as began, max(start + duration) as ended, any_value(until) as until,
		sum(bytes) filter (moves and kind = 'write') as bytes,
		min(file_offset) filter (moves and kind = 'write') as lowest,
		max(file_offset + bytes) filter (moves and kind = 'write') as highest,
		coalesce(sum(bytes) filter (moves and kind = 'read'), 0) as read,
		count(distinct process) filter (moves and kind = 'write') as writers,
		arg_max(layer, duration) filter (own and kind in ('write', 'close', 'open')) as layer,
		max(start + duration) filter (moves and kind = 'write') as written,
		max(start) filter (moves and kind = 'sync') as last_sync,
		max_by(id, duration, 2) filter (own) as worst
	from each
	group by place, file, number
),
-- By name: a file system may give a file that is made the number of one that was just replaced.
renamed as (
	select s.file, s.number, min(r.start) as renamed_at, any_value(coalesce(p.place, r.target)) as place,
		any_value(r.target) as target
	from span as s join rename as r on r.name = s.name and r.start >= s.began and r.start < s.until left join places() as p on p.path = r.target
	group by s.file, s.number
)
select
	coalesce(r.place, w.place) as place, w.file, coalesce(r.target, w.name) as name, w.number, w.began, greatest(w.ended, r.renamed_at) as ended, w.until, w.bytes,
	coalesce(m.main, 0) as main, m.process, w.writers, w.layer, w.worst,
	coalesce(not lag(r.renamed_at is not null) over (partition by w.file order by w.number), false) as emptied,
	r.renamed_at is not null as renamed, coalesce(w.last_sync >= w.written, false) as synced,
	coalesce(w.last_sync >= w.written and w.last_sync < r.renamed_at, false) as synced_first
from whole as w left join main as m using (file, number) left join renamed as r using (file, number)
where w.lowest = 0 and w.bytes <= 1.25 * w.highest and w.read < 0.1 * w.bytes;

-- The same with its round: files of a place that are saved at one time. A round ends where a file is saved once more, or nothing is for 30 ms and a
-- tenth of the place's longest gap, since computing lies between two rounds and little between two files of one. `apart`, `within`: ns
-- without before a round (unless a file was saved once more), before another file of one.
create or replace macro save_rounds() as table
with ordered as (
	select
		*, began - max(ended) over earlier as gap, number > max(number) over earlier as is_again
	from saves()
	window earlier as (partition by place order by began, file, number rows between unbounded preceding and 1 preceding)
),
cut as (
	select *, coalesce(is_again or gap > greatest(30000000, 0.1 * max(gap) over (partition by place)), true) as is_first from ordered
)
select
	* exclude (gap, is_again, is_first), if(is_first and not is_again, gap, null) as apart, if(is_first, null, gap) as within,
	sum(is_first::int) over (partition by place order by began, file, number rows between unbounded preceding and current row)::bigint as round
from cut;

-- State that was saved twice and more, a MiB and more each time: smaller is no large state. Half of the rounds and more have as many files as one
-- another, and lie further apart than three times what lies between two files of one. Rounds of several files have names with two numbers, or names that
-- come again: others are files that come one by one, with pauses of any length between them. Of each place. `stall`: the main thread that spent most in
-- it, of all rounds; `others`: the longest that another process waited meanwhile in pipes, sockets or collective calls (null: no such call was
-- recorded). Counts of files: renamed, synced, synced_first, emptied.
-- Columns: place, layer, writers (most of a round), rounds, files, bytes (of a round), stall, others, stripes (servers that the files of a round have
-- together; null: not known), saves (of files), and those, cell_files, calls.
create or replace macro checkpoints() as table
with save as materialized (from save_rounds()),
-- How many of the numbers in the names differ from file to file.
numbered as (
	select place, count(*) as numbers
	from (
		select place, nth
		from (select place, regexp_extract_all(name, '[0-9]+') as words, unnest(range(len(words))) as nth from save)
		group by place, nth
		having count(distinct words[nth + 1]) > 1
	)
	group by place
),
again as (
	select distinct place from save where number > 1 or emptied
	union
	select place from save group by place, name having count(*) > 1
),
round as (
	select
		place, round, count(*) as files, sum(bytes) as bytes, min(began) as began, max(ended) as ended,
		min(apart) as apart, coalesce(max(within), 0) as within
	from save
	group by all
),
large as (
	select place, count(*) as rounds, avg(files) as files, avg(bytes) as bytes
	from (select *, count(*) over (partition by place, files) as alike from round) left join numbered using (place)
	group by place
	having count(*) > 1 and avg(bytes) >= 1048576 and 2 * max(alike) >= count(*) and coalesce(min(apart) > 3 * max(within)::double, true)
		and (median(files) = 1 or any_value(numbers) > 1 or place in (from again))
),
writer as (
	select place, max(writers) as writers, max(stall) as stall
	from (
		select place, greatest(count(distinct process), max(writers)) as writers, 0 as stall from save group by place, round
		union all
		select place, 0, sum(main) from save where process is not null group by place, process
	)
	group by place
),
waiting as (
	select process, start, start + duration as stop
	from calls
	where depth = 0 and (
			collective is not null or layer = 'mpi'
			or kind = 'read' and file in (select file from files where kind in ('fifo', 'socket'))
		)
),
waited as (
	select place, max(time) as others
	from (
		select r.place, w.process, sum(greatest(0, least(w.stop, r.ended) - greatest(w.start, r.began))) as time
		from round as r join waiting as w on w.start < r.ended and w.stop > r.began
		where not exists (from save as s where s.place = r.place and s.process = w.process)
		group by all
	)
	group by place
),
server as (
	select s.place, sum(f.stripes)::bigint as stripes
	from (select distinct place, file from save where round = 1) as s join file_layouts() as f using (file)
	group by s.place
)
select
	l.place, any_value(s.layer) as layer, any_value(w.writers) as writers, l.rounds, l.files, l.bytes, any_value(w.stall) as stall,
	any_value(o.others) as others, any_value(v.stripes) as stripes, count(*) as saves,
	count(*) filter (s.renamed) as renamed, count(*) filter (s.synced) as synced,
	count(*) filter (s.synced_first) as synced_first, count(*) filter (s.emptied) as emptied, list(distinct s.file) as cell_files,
	list_slice(flatten(list(s.worst)), 1, 8) as calls
from large as l join save as s using (place) left join writer as w using (place) left join waited as o using (place) left join server as v using (place)
group by l.place, l.rounds, l.files, l.bytes
order by stall desc, l.place;
