-- What each server did over time: bins of {width} ns from {begin} on. A call's time and bytes are spread over the bins it lasts through, it
-- counts in that in which it began. Servers by their names in the picture; those without one together.
with {latency/servers},
named as (
	select *, if({named}, server, null) as name from {stands}
),
placed as (
	select
		name as server, c.kind, coalesce(c.bytes, 0) as bytes, c.start, c.duration,
		if(c.start < {begin}, -1, (c.start - {begin}) // {width}) as first,
		if(c.start + c.duration <= {begin}, -1, (c.start + greatest(c.duration, 1) - 1 - {begin}) // {width}) as last
	from (select * from calls as c where {selected} and {reached}) as c join named using ({whose})
),
pieces as (
	select *, unnest(range(greatest(0, first), least(last, {bins} - 1) + 1)) as bin from placed
),
shares as (
	select
		server, kind, bytes, duration, bin, bin = first as begins,
		least(start + duration, {begin} + (bin + 1) * {width}) - greatest(start, {begin} + bin * {width}) as time
	from pieces
)
select
	server, bin::integer as bin,
	coalesce(sum(bytes * if(duration = 0, 1, time / duration)) filter (kind = 'read'), 0)::double as read,
	coalesce(sum(bytes * if(duration = 0, 1, time / duration)) filter (kind = 'write'), 0)::double as written,
	sum(time) as busy, count(*) filter (begins) as calls
from shares
group by server, bin
order by server nulls last, bin
