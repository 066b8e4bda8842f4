-- Of the program's own I/O calls: time of each process that made any, in all threads and in its main one. A part of other statements.
select process, any_value(p.rank) as rank, sum(c.time) as time, coalesce(sum(c.time) filter (c.thread_class = 'main'), 0) as main_time
from counters as c join processes as p using (process) left join files as f using (file)
where {own_io}
group by process
