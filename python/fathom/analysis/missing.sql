-- What is not in the tables, and why: one row per kind.
select kind, detail, count(distinct process) as processes, sum(value) as value, count(*) as marks
from marks
group by kind, detail
order by marks desc, kind, detail
