-- Of the units those of these outermost calls. A part, after `with recursive`.
{units},
{chosen},
picked as materialized (
	select * from unit semi join chosen using (process, call)
)
