-- title:  Time in file locks
-- layer:  posix
-- limit:  any that costs: a lock that nobody else wants takes microseconds
-- says:   {path}: {n:count} calls of {op} by {who}, {seconds:seconds} of the slowest{inside}
-- lost:   all of it, of the slowest process; inside MPI-IO less what its pieces cost as requests of their own, without data sieving
-- sure:   0.7
-- fix:    hold a lock for less time. Parts that one process alone writes need none[ranks: : let each rank write its own blocks][mpiio below: . In
--   MPI-IO: collective writes, or no data sieving of writes and no atomic mode]
-- knob:   [in {holder}: romio_ds_write=disable, MPI_File_set_atomicity(false)]
-- ompio:  [in {holder}: --mca fs_ufs_lock_algorithm 1, where no two ranks write the same bytes; MPI_File_set_atomicity(false)]
-- causes: locks, contention
-- seen:   Thakur, Gropp, Lusk 1999 (data sieving needs locks); Liao, Choudhary 2008
with lock as (
	select c.id, c.process, c.op, c.file, c.duration, c.parent
	from calls as c
	where c.layer = 'posix' and c.op in (select op from counters where layer = 'posix' and op in ('flock', 'lockf'))
	union all
	-- F_SETLK, F_SETLKW and the same for open file descriptions
	select c.id, c.process, c.op, c.file, c.duration, c.parent
	from calls as c join args as a on a.call = c.id
	where c.layer = 'posix' and c.op = 'fcntl' and a.name = 'cmd' and a.value in (6, 7, 37, 38)
),
process as (
	select
		p.place as path, l.op, l.process, count(*) as n, sum(l.duration) / 1e9 as seconds, max_by(l.id, l.duration, 8) as worst, any_value(l.parent) as parent
	from lock as l join places() as p using (file)
	group by p.place, l.op, l.process
),
holder as (
	select id as parent, op as holder from calls where id in (select parent from process)
),
-- Without data sieving each piece is a request.
sieved as (
	select t.process, greatest(0, sum(t.pieces * r.request) - sum(t.io) / 1e9) as more
	from transfers() as t join account_references() as r on r.file = t.file and r.kind = t.kind
	where t.kind = 'write' and t.collective is null
	group by t.process
)
select
	path,
	p.op,
	sum(n)::hugeint as n,
	if(count(*) = 1, 'one process', format('{} processes', count(*))) as who,
	max(seconds) as seconds,
	coalesce(', inside ' || any_value(holder), '') as inside,
	any_value(holder) filter (holder like 'MPI_File%') as holder,
	list_slice(flatten(list(worst)), 1, 8) as calls,
	max(seconds - if(holder like 'MPI_File%', coalesce(s.more, 0), 0)) as lost
from process as p left join holder using (parent) left join sieved as s using (process)
group by path, p.op
having lost > 0
