-- Intervals of the calls that landscape_io counts, where they were recorded in full.
with recursive region as (
	select id from calls where layer in ('user', 'threads') and parent is null
	union all
	select c.id from region join calls as c on c.parent = region.id where c.layer in ('user', 'threads')
)
select c.process, c.start, c.start + c.duration as stop
from calls as c left join files as f using (file)
where c.layer not in ('fathom', 'user', 'threads') and c.kind <> 'comm'
	and (f.kind is null or f.kind not in ('socket', 'fifo') and f.path not like 'anon_inode:%')
	and case
		when $layer::varchar is null then depth = 0 or parent in (from region)
		when c.layer <> $layer then false
		else parent is null or parent not in (select id from calls where layer in ($layer, 'mpi') or kind = 'comm')
	end
