-- All processes. `main`: the first of its rank; what it starts has its rank too. `server`: its name, where it served others.
with {latency/serving}
select p.process, p.pid, p.parent, p.node, p.exe, p.rank, p.process = min(p.process) over (partition by p.rank) as main, s.server
from processes as p left join server_process as s using (process)
order by p.process
