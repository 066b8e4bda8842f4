-- The requests of few calls, each with the place of its sub-call in its outermost call. A part, after picked.sql.
{requests},
mine as materialized (
	select *
	from (select *, dense_rank() over (partition by process, call order by start, id) - 1 as subcall from every_request)
	where {servers_set} and {subcalls_set}
)
