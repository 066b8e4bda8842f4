-- Outermost calls that were open when their process was killed; of one that ended by itself, in its first thread, which then came out of a handler of
-- signals. One row per call of one file from one line: ranks, pids (of processes without a rank), op, layer, file, line, since, longest, calls.
with outer_ as (
	select e.*, p.pid
	from ({open_at_end}) as e join processes as p using (process) join streams as t using (stream)
	where e.killed or t.tid = p.pid
	qualify row_number() over (partition by e.stream order by e.depth) = 1
)
select
	list(distinct rank order by rank) filter (rank is not null) as ranks,
	list(distinct pid order by pid) filter (rank is null) as pids,
	op,
	layer,
	coalesce(f.path, '') as path,
	coalesce(s.source, s.module, '') as source,
	s.line,
	min(start) as since,
	max(stop - start) as longest,
	count(*) as calls
from outer_ left join files as f using (file) left join sites as s using (site)
group by op, layer, f.path, s.source, s.module, s.line
order by longest desc, op, path
