-- Of the units those of these outermost calls. A part, after `with recursive`.
{units},
chosen as materialized (
	select unnest($processes::uinteger[]) as process, unnest($ordinals::uinteger[]) as call
),
picked as materialized (
	select * from unit semi join chosen using (process, call)
)
