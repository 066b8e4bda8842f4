-- What settings of the run (fathom run --tuned) came to: set, or left and why; of hints, what the library says is in force.
with tuned as (
	select file, object, substr(key, 7) as setting,
		split_part(value, '; left: ', 1) as value,
		nullif(split_part(value, '; left: ', 2), '') as reason
	from hints_in_force
	where source = 'asked' and key like 'tuned %'
),
in_force as (
	-- a file that is open may be given others
	select object, key, list(value) as had
	from hints_in_force
	where source = 'in force'
	group by object, key
),
asked as (
	select distinct object, key, value from hints_in_force where source = 'asked' and key not like 'tuned %'
)
select
	t.setting,
	t.value,
	case
		when t.reason is not null then 'left: ' || t.reason
		when a.key is null then 'set'
		when f.had is null then 'dropped by the library'
		when list_contains(f.had, t.value) then 'set; echoed by the library'
		else 'library has ' || f.had[-1]
	end as became,
	count(distinct t.file) as files,
	count(distinct t.object) as objects,
	any_value(o.name) as example
from tuned as t
left join objects as o on o.object = t.object
left join in_force as f on f.object = t.object and f.key = t.setting
left join asked as a on a.object = t.object and a.key = t.setting and a.value = t.value
group by all
order by t.setting, t.value, became
