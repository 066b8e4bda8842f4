-- Rows of the pictures: processes by (rank, process), those without a rank last. A part of other statements, after `with`.
lane as (
	select (row_number() over (order by rank nulls last, process) - 1)::integer as lane, process, rank, node, start, pid, exe
	from processes
)
