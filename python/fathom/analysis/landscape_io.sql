-- Counters of the calls that a landscape is of: the program's own I/O calls or, when $layer names one, that layer's, whoever made
-- them. What MPI does to start, to end and to communicate is none. A part of other statements, after `with`.
io as (
	select
		c.*,
		f.path,
		case when c.kind in ('open', 'close', 'read', 'write') then c.kind else 'other' end as operation
	from counters as c left join files as f using (file)
	where {any_io} and {of_files}
		and case
			when $layer::varchar is null or enclosing is null then {outermost}
			else enclosing_layer not in ($layer, 'mpi')
				and (enclosing_layer, enclosing) not in (select (layer, op) from ops where kind = 'comm')
		end
		and ($layer::varchar is null or c.layer = $layer)
)
