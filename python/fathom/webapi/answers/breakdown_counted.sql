-- From counters, so of every level. A part of breakdown.sql.
below as (
	select
		{key} as key, c.layer, sum(c.time) as time, sum(c.calls) filter (c.below <> 'fathom') as calls,
		sum(c.time) filter (talk) as talked, sum(c.calls) filter (talk) as talks, sum(c.bytes) filter (talk) as exchanged,
		max(c.longest) filter (talk) as longest_talk
	from (
		select *
		from (
			select b.process, b.enclosing_layer as layer, b.enclosing as op, o.kind, null::uinteger as file, b.layer as below,
				b.kind = 'comm' as talk, b.time, b.calls, b.bytes, b.longest
			from counters as b left join ops as o on o.layer = b.enclosing_layer and o.op = b.enclosing
			where b.enclosing is not null
		) as c
		where {selected} and {any_io}
	) as c left join lane using (process) left join server_process using (process) left join server_file using (file)
	group by all
),
keyed as (
	select c.*, {key} as key, {inside} as inside, server_file.server
	from (select * from counters as c where {selected} and {any_io} and {reaches}) as c
		left join lane using (process) left join server_process using (process) left join server_file using (file)
),
sums as (
	select
		a.key, a.layer, if({exclusive}, greatest(0, a.every - coalesce(b.time, 0)), a.topmost) as time, a.calls, a.bytes, a.longest
	from (
		select
			key, layer, sum(time) as every, sum(time) filter (not inside) as topmost, sum(calls) as calls,
			sum(bytes) filter (not inside) as bytes, max(longest) as longest
		from keyed
		where key is not null
		group by key, layer
	) as a left join below as b on b.key = a.key and b.layer = a.layer
),
longest_call as (
	select s.key, s.layer, min(c.id) as call
	from (
		select {key} as key, c.layer, c.id, c.duration
		from (select * from calls as c where {selected} and {any_io} and {reached} and duration in (select longest from sums)) as c
			left join lane using (process) left join server_process using (process) left join server_file using (file)
	) as c join sums as s on s.key = c.key and s.layer = c.layer and s.longest = c.duration
	group by s.key, s.layer
),
of_files as (
	select key, layer, server, time from keyed where key is not null
)
