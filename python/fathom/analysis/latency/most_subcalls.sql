-- The most sub-calls that one of the units' outermost calls has, on whatever server.
with recursive {units},
{requests},
each as (
	select count(distinct id) as n from request group by process, call
)
select max(n) as most from each
