-- title:  Many ranks open, look up or remove at the same moment
-- layer:  posix
-- limit:  half of the ranks, at least 2, call on names of one directory, on average two at a time. The mean call takes twice the
--   shortest
-- says:   {directory}: {ranks:count} ranks made {n:count} calls like {op}, {most:count} of them within {window:seconds}; a mean one took
--   {mean:seconds}, the shortest {shortest:seconds}; {seconds:seconds} of the slowest rank
-- lost:   time of the slowest rank in these calls, less as many of the shortest
-- sure:   0.6
-- fix:    one rank opens or looks and tells the others; one shared file by a collective open; names made before the ranks need them
-- causes: names, exchange, waiting
-- when:   (select count(rank) from processes) > 1
-- seen:   Chang, Jin, Bauer 2016 (ATHENA-C)
with named as (
	select p.directory, c.process, c.op, c.id, c.start, c.duration
	from calls as c join places() as p using (file) join processes as r using (process)
	where c.layer in ('posix', 'stdio') and c.kind in ('open', 'meta') and r.rank is not null
		and c.op not in ('fcntl', 'flock', 'lockf', 'ioctl', 'ftruncate', 'fallocate', 'posix_fallocate', 'posix_fadvise', 'readahead', 'dup', 'dup2', 'dup3')
),
least as (
	select directory, op, quantile_cont(duration, 0.02) / 1e9 as shortest from named group by directory, op
),
-- A burst: calls of a directory of which the next begins before all that went before ended, or within a ms of it.
marked as (
	select *, start > 1000000 + max(start + duration) over (
		partition by directory order by start rows between unbounded preceding and 1 preceding) as begins
	from named
),
burst as (
	-- Not by rows: calls that begin in the same ns are of one burst.
	select *, sum(coalesce(begins, true)::int) over (partition by directory order by start) as burst from marked
),
process as (
	select
		directory, burst, process, count(*) as n, sum(duration) / 1e9 as seconds, sum(l.shortest) as alone,
		min(start) as first, max(start + duration) as last
	from burst join least as l using (directory, op)
	group by directory, burst, process
),
storm as materialized (
	select
		directory, burst, count(*) as ranks, sum(n) as n, (max(last) - min(first)) / 1e9 as "window", sum(seconds) as spent,
		max(seconds) as seconds, max(seconds - alone) as lost, sum(alone) as alone
	from process
	group by directory, burst
	having count(*) >= 2 and count(*) >= 0.5 * (select count(*) from processes where rank is not null)
		and sum(seconds) >= 2 * (max(last) - min(first)) / 1e9 and sum(seconds) >= 2 * sum(alone)
),
-- What ranks called, and which of it took longest: of these bursts only.
called as (
	select directory, burst, process, commonest(op) as op, max_by(id, duration, 8) as worst
	from burst semi join storm using (directory, burst)
	group by directory, burst, process
),
example as (
	select directory, burst, commonest(op) as op, list_slice(flatten(list(worst)), 1, 8) as worst from called group by directory, burst
)
select
	directory,
	any_value(op) as op,
	max(ranks) as ranks,
	sum(n)::hugeint as n,
	max(n)::bigint as most,
	max_by("window", n) as "window",
	sum(spent) / sum(n) as mean,
	sum(alone) / sum(n) as shortest,
	sum(seconds) as seconds,
	list_slice(flatten(list(worst)), 1, 8) as calls,
	sum(lost) as lost
from storm join example using (directory, burst)
group by directory
