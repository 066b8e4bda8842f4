-- The requests that count. Numbering them would sort; where every sub-call counts there is no need to.
request as not materialized (
	select * from every_request where {servers_set}
)
