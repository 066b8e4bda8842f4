-- The requests that count, of those sub-calls.
request as not materialized (
	select * from every_request where single and {servers_set} and {first_set}
	union all
	select * exclude (subcall)
	from (select *, dense_rank() over (partition by process, call order by start, id) - 1 as subcall from every_request where not single)
	where {servers_set} and {subcalls_set}
)
