-- `phase`: from when another process or server became critical until the next did, by what the agent wrote (samples, `critical`): its
-- number, start, stop, process (null: only a server was), server (its process). A part of other statements, after `with`.
{latency/serving},
turn as (
	select process, time as start, value, lead(time) over (partition by process order by time) as stop
	from (select process, time, value, lag(value, 1, 0) over (partition by process order by time) as before from samples where what = 'critical')
	where value <> before
),
span as (
	select t.process, t.start, coalesce(t.stop, p.stop) as stop, p.process in (select process from server_process) as serves
	from turn as t join processes as p using (process)
	where t.value = 1
),
cut as (
	select start, lead(start) over (order by start) as next from (select distinct start from span)
),
phase as (
	select
		(row_number() over (order by c.start) - 1)::integer as phase, c.start,
		least(coalesce(c.next, max(s.stop)), max(s.stop)) as stop,
		any_value(s.process) filter (not s.serves) as process, any_value(s.process) filter (s.serves) as server
	from cut as c join span as s on s.start <= c.start and c.start < s.stop
	group by c.start, c.next
)
