-- title:  Bytes that another rank wrote, without a sync in between
-- layer:  posix
-- limit:  one ordered pair is enough: the writer neither synced nor closed the file before the other's access. On NFS the other
--   must also open it after that. Looked at are accesses as for unordered-accesses
-- says:   {path}: {other} {does} bytes that {one} wrote; {between}: right under {semantics} only ({pairs:count} such pairs among those
--   looked at)
-- lost:   a danger, no time: right here, wrong on a file system with weaker semantics (NFS, burst buffers, UnifyFS)
-- sure:   0.6
-- fix:    {mend}
-- needs:  calls
-- when:   exists (select file from counters where kind in ('read', 'write') group by file having count(distinct process) > 1)
-- seen:   Wang, Mohror, Snir 2021, file system semantics requirements of HPC applications; MPI 4.0, 14.6.1
with weak as (
	select c.*, f.path, coalesce(f.file_system, '') like 'nfs%' as is_nfs
	from conflicts() as c join files as f using (file)
	where level = 'posix' or level in ('commit', 'mpi') and coalesce(f.file_system, '') like 'nfs%'
)
select
	w.path,
	arg_min(if(p.rank is null, format('process {}', p.pid), format('rank {}', p.rank)), first) as one,
	arg_min(if(q.rank is null, format('process {}', q.pid), format('rank {}', q.rank)), first) as other,
	arg_min(if(did_then = 'read', 'reads', 'writes'), first) as does,
	case level
		when 'posix' then 'no sync or close of the writer lies between'
		else 'the file was synced, but not closed and opened again, in between'
	end as between,
	case level when 'posix' then 'POSIX semantics' when 'mpi' then 'MPI semantics' else 'commit semantics' end as semantics,
	case level
		when 'posix' then 'after the write fsync or close[mpiio: , or MPI_File_sync] at the writer and then at the reader, before the barrier'
		else 'close the file after writing, and open it again before reading: NFS promises no more'
	end as mend,
	count(*) as pairs,
	if(bool_or(is_nfs), 0.8, 0.6) as sure,
	list_distinct(flatten([arg_min(first, first, 4), arg_min(second, first, 4)])) as calls,
	null::double as lost
from weak as w join processes as p on p.process = w.a join processes as q on q.process = w.b
group by w.path, level
order by count(*) desc
limit 8
