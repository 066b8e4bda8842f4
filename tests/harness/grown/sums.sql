-- `counters` of all ranks, from the sums of one repetition of the recorded ones (table `counted`) and from how often each rank has each stretch
-- (table `stretch`: rank, m, repeated, first, last): no call is looked at again.
create table once as
	select c.*, f.shared, row_number() over () as key
	from counted as c left join new_file as f on f.number = c.file;
drop table counted;
drop table generated_calls;
create table timed as
	select
		o.key, m, sum(b.duration * b.times) as time, min(b.duration * b.times) as shortest, max(b.duration * b.times) as longest,
		min(begins) as first_start, max(begins + b.duration * b.times) as last_stop, bool_and(b.runtime) as runtime
	from (
		select *, if(together, most(), m) as times, tree_start * most() + (start - tree_start) * times as begins
		from base, range(1, most() + 1) as r(m)
	) as b join once as o on o.process = b.process and o.layer = b.layer and o.op = b.op and o.file is not distinct from b.file
		and o.enclosing_layer is not distinct from b.enclosing_layer and o.enclosing is not distinct from b.enclosing
	group by o.key, m;
create view counted as
	with of_rank as (
		select
			s.rank, t.key, sum(t.time * repeated)::bigint as time, min(t.shortest) as shortest, max(t.longest) as longest,
			min(s.first * period() + t.first_start) as first_start, max(s.last * period() + t.last_stop) as last_stop, bool_and(t.runtime) as runtime
		from stretch as s join once as o on o.process = s.rank % template_ranks() join timed as t on t.key = o.key and t.m = s.m
		group by s.rank, t.key
	)
	select
		r.rank as process, file_of(o.file, o.shared, r.rank // template_ranks()) as file, o.layer, o.op, o.kind, o.enclosing_layer, o.enclosing,
		o.calls * repetitions() as calls, o.bytes * repetitions() as bytes, r.time, r.shortest, r.longest, r.first_start, r.last_stop, r.runtime,
		o.consecutive * repetitions() as consecutive, o.sequential * repetitions() as sequential, o.switches * repetitions() as switches,
		list_transform(o.sizes, lambda n: n * repetitions()) as sizes
	from of_rank as r join once as o using (key)
	order by process;
