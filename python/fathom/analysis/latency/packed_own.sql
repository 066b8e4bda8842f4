-- Calls inside the program's own, and those of them that are outermost and a request, as the packer wrote them.
inside_own as not materialized (
	select * from calls where own is not null
),
own_request as not materialized (
	select *, null::varchar as region, null::varchar[] as regions from calls where alone and depth = 0
)
