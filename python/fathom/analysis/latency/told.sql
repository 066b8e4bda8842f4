-- Calls inside the program's own, as the packer wrote them.
inside_own as not materialized (
	select * from calls where own is not null
)
