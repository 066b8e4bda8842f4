-- The streams that have selected calls; `main`: of a process's first thread.
select s.stream, s.process, s.tid, s.side, s.tid = p.pid and not s.side as main
from streams as s join processes as p using (process)
where stream in (select stream from calls where {where}) order by stream
