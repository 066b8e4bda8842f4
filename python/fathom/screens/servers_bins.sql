-- What each server did over time: bins of {width} ns from {begin} on. A call's time and bytes are spread over the bins it lasts through, it
-- counts in that in which it began. Servers by their names in the picture; those without one together.
with {latency/servers},
holder as (
	select id from calls where {holders}
),
named as (
	select server, if({named}, server, null) as name from (select server from server_process union select server from server_file)
),
work as (
	select s.name, c.kind, c.bytes, c.start, c.duration
	from (select * from calls as c where {selected}) as c join (from server_file join named using (server)) as s using (file)
	where c.layer in ('posix', 'stdio', 'aio') and (c.parent is null or c.parent not in (from holder))
	union all
	select s.name, c.kind, c.bytes, c.start, c.duration
	from (select * from calls as c where {selected}) as c join (from server_process join named using (server)) as s using (process)
	where c.layer = 'server' and c.kind <> 'comm'
),
placed as (
	select
		w.name as server, w.kind, coalesce(w.bytes, 0) as bytes, w.start, w.duration,
		if(w.start < {begin}, -1, (w.start - {begin}) // {width}) as first,
		if(w.start + w.duration <= {begin}, -1, (w.start + greatest(w.duration, 1) - 1 - {begin}) // {width}) as last
	from work as w
),
-- Its first bin, its last, and those between.
pieces as (
	select server, kind, first as bin, 1 as call, least(start + duration, {begin} + (first + 1) * {width}) - start as time, bytes, duration
	from placed
	union all
	select server, kind, last, 0, start + duration - ({begin} + last * {width}), bytes, duration
	from placed
	where last > first
	union all
	select server, kind, unnest(range(first + 1, least(last, {bins}))), 0, {width}, bytes, duration
	from placed
	where last > first + 1
)
select
	server, bin::integer as bin,
	coalesce(sum(bytes * if(duration = 0, call, time / greatest(duration, 1))) filter (kind = 'read'), 0)::double as read,
	coalesce(sum(bytes * if(duration = 0, call, time / greatest(duration, 1))) filter (kind = 'write'), 0)::double as written,
	sum(time)::bigint as busy, sum(call)::bigint as calls
from pieces
where bin between 0 and {bins} - 1
group by server, bin
order by server nulls last, bin
