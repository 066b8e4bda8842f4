-- Ranks of the job, or, outside MPI, processes that made I/O calls of their own. A part of other statements.
select distinct rank as unit from processes where rank is not null
union all
select process from ({own_processes}) where not exists (select 1 from processes where rank is not null)
