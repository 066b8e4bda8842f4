-- The calls that a recorded run is grown from: whole trees that touch the files asked for ($files, a glob), numbered anew from 0: streams (of those that
-- have calls), calls of each, outermost calls of each process, files (those of several ranks first), objects, selections, collectives.
create table sampled as
	with wanted as (
		select distinct process, call from recorded.calls where file in (select file from recorded.files where path glob '$files') and rank is not null
	)
	select c.* from recorded.calls as c semi join wanted using (process, call);
create table new_stream as
	select stream, any_value(process) as process, row_number() over (order by any_value(rank), stream) - 1 as number, count(*) as calls
	from sampled group by stream;
create table new_process as
	select process, any_value(rank) as number, count(distinct call) as outermost, count(*) as calls from sampled group by process;
create table new_file as
	select
		file, count(distinct process) > 1 as shared, coalesce(max(file_offset + bytes), 0) as extent,
		row_number() over (order by shared desc, file) - 1 as number
	from sampled where file is not null group by file;
create table new_object as
	with recursive needed as (
		select distinct object from sampled where object is not null
		union
		select o.parent from needed as n join recorded.objects as o using (object) where o.parent is not null
	)
	select o.* exclude (number), row_number() over (order by object) - 1 as number from recorded.objects as o semi join needed using (object);
create table new_selection as
	select s.* exclude (number), row_number() over (order by selection) - 1 as number, used.file
	from recorded.selections as s join (
		select selection, any_value(file) as file from sampled where selection is not null group by selection
	) as used using (selection);
create table new_collective as
	select c.*, row_number() over (order by collective) - 1 as number
	from recorded.collectives as c semi join (select distinct collective from sampled) using (collective);
create table new_call as
	select id, s.number as stream, row_number() over (partition by stream order by start, depth, id) - 1 as seq
	from sampled as k join new_stream as s using (stream);

create macro began() as (select min(start) from sampled);
create table base as
	select
		k.* replace (
			n.stream as stream, n.seq as id, p.number as process, k.start - began() as start, f.number as file, o.number as object,
			s.number as selection, c.number as collective, dense_rank() over (partition by k.process order by k.call) - 1 as call
		),
		a.stream as parent_stream, a.seq as parent_seq, w.stream as own_stream, w.seq as own_seq, f.shared, f.extent,
		min(k.start) over tree - began() as tree_start, bool_or(k.collective is not null) over tree as together,
		h.layer as enclosing_layer, h.op as enclosing
	from sampled as k
		join new_call as n on n.id = k.id join new_process as p on p.process = k.process
		left join new_call as a on a.id = k.parent left join new_call as w on w.id = k.own left join sampled as h on h.id = k.parent
		left join new_file as f on f.file = k.file left join new_object as o on o.object = k.object
		left join new_selection as s on s.selection = k.selection left join new_collective as c on c.collective = k.collective
	window tree as (partition by k.process, k.call)
	order by n.stream, n.seq;
create table base_links as
	select l.*, f.stream as from_stream, f.seq as from_seq, t.stream as to_own_stream, t.seq as to_own_seq
	from recorded.links as l join new_call as f on f.id = l.from_call join new_call as t on t.id = l.to_call;
