-- Of which ranks less is known than of others: some were not recorded; calls of some were recorded, those of others counted; files
-- are known of the data of some, and not of others' (level job).
with each as (
	select
		p.rank,
		coalesce(bool_or(c.recorded > 0), false) as in_full,
		coalesce(bool_or(c.calls > 0), false) and not coalesce(bool_or(c.recorded > 0), false) as only_counted,
		coalesce(bool_or(c.kind in ('read', 'write') and c.file is not null), false) as with_files,
		coalesce(bool_or(c.kind in ('read', 'write') and c.file is null and c.recorded = 0), false) as without_files
	from processes as p left join counters as c on c.process = p.process and c.layer not in ('fathom', 'mpi', 'threads', 'user')
	where p.rank >= 0
	group by p.rank
)
select
	any_value(missing) as ranks_missing,
	any_value(missing) or coalesce(bool_or(in_full) and bool_or(only_counted), false) as calls,
	any_value(missing) or coalesce(bool_or(with_files) and bool_or(without_files), false) as files,
	if(files, list(rank order by rank) filter (with_files), null) as ranks_with_files,
	if(files, list(rank order by rank) filter (not with_files and without_files), null) as ranks_without
from (select coalesce(ranks_seen < ranks, false) as missing from runs) left join each on true
