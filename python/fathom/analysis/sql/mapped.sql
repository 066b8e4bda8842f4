-- Files that are used through memory: what page faults bring is moved by no call.

-- Mappings of files, a row for a process and file. Columns: process, file, maps; mapped: bytes of all of these; used: of them those that were in the
-- process's memory when a mapping ended, with what the kernel brought around them; null: not known, as at level file. Of mappings below 1 MiB it is
-- not asked: all of their bytes count. A fork's child has its parent's mappings: none of its own, and what it used of them.
create or replace macro mapped_files() as table
with made as (
	select process, file, count(*) as maps, sum(length)::hugeint as mapped from objects where class = 'mapping' and file is not null group by all
),
ended as (
	select c.process, c.file, sum(if(a.value < 0, c.size, a.value))::hugeint as used
	from calls as c join args as a on a.call = c.id
	where a.name = 'used' and c.op in ('munmap', 'mapped') and c.file is not null
	group by all
)
select
	process, file, coalesce(m.maps, 0) as maps, coalesce(m.mapped, 0) as mapped, coalesce(e.used, if(m.mapped < 1048576, m.mapped, null)) as used
from made as m full join ended as e using (process, file) join files as f using (file)
where is_file(f.kind, f.path, f.file_system);

-- The same of each file, the most used first. Columns: path, maps, mapped, used, processes.
create or replace macro mapped_totals() as table
select f.path, sum(m.maps)::hugeint as maps, sum(m.mapped) as mapped, sum(m.used) as used, count(distinct m.process) as processes
from mapped_files() as m join files as f using (file)
group by file, f.path
order by used desc nulls last, mapped desc, f.path;

-- All of them in one row, beside what calls read and wrote. Columns: files; path of the file that is used most; mapped, used (null: of some it is not
-- known); storage: at most so much of it was read from storage, since the process read no more from there (null: not known); moved by calls.
create or replace macro mapped_sum() as table
with process as (
	select process, sum(mapped) as mapped, sum(used) as used, count(used) = count(*) as known from mapped_files() group by process
)
select
	(select count(distinct file) from mapped_files()) as files,
	(select path from mapped_totals() limit 1) as path,
	sum(p.mapped) as mapped,
	if(bool_and(p.known), sum(p.used), null) as used,
	if(
		count(q.storage_read) = count(*), sum(least(if(p.known, p.used, p.mapped), q.storage_read))::hugeint, null
	) as storage,
	(
		select coalesce(sum(c.bytes), 0)::hugeint
		from counters as c left join files as f using (file)
		where is_system(c.layer) and c.kind in ('read', 'write') and is_file(f.kind, f.path, f.file_system)
	) as moved
from process as p join processes as q using (process);
