-- The number of each outermost call of the units: its place, later by what alignment added up to there ($of, $from, $by). A part, after
-- `with recursive`.
{units},
{positions},
shift as (
	select unnest($of::bigint[]) as who, unnest($from::bigint[]) as position, unnest($by::bigint[]) as later
),
number as (
	select p.who, p.process, p.call, p.position + coalesce(s.later, 0) as number
	from placed as p asof left join shift as s on s.who = p.who and s.position <= p.position
)
