-- One row for each phase: who was critical, why, and how much of the phase its I/O took.
with {critical_phase},
io as (
	select p.phase, count(*) as calls, sum(least(c.start + c.duration, p.stop) - c.start) as time
	from phase as p join calls as c on c.process = p.process and c.start >= p.start and c.start < p.stop
	where c.parent is null and c.layer <> 'fathom'
	group by p.phase
)
select
	p.phase, p.start / 1e9 as start_seconds, (p.stop - p.start) / 1e9 as seconds, r.rank, r.pid, r.host, s.server,
	p.process, p.server as server_process,
	coalesce(io.calls, 0) as calls, coalesce(io.time, 0) / 1e9 as io_seconds, coalesce(io.time, 0) / (p.stop - p.start) as share,
	(
		select string_agg(m.detail, '; ' order by m.time) from marks as m
		where m.kind = 'critical' and m.time < p.start and m.time >= coalesce((select max(before.start) from phase as before where before.start < p.start), m.time)
	) as why
from phase as p
	left join (select process, rank, pid, host from processes join nodes using (node)) as r using (process)
	left join server_process as s on s.process = p.server
	left join io using (phase)
order by p.phase
