-- Rows of all parts of the run, in order: parts hold whole ranks.
select distinct collective, elapsed from partials order by elapsed desc, collective {top}
