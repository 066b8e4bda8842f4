-- The program's own reads and writes of known bytes: those of POSIX and C streams, and MPI-IO's whose view has no holes. What ROMIO does
-- below MPI-IO is its own affair, and is not looked at in files that MPI-IO moved data of; files that have nothing else are left out first,
-- and where no file is left no such call is read.
with by_mpi as materialized (
	select distinct file from counters where layer = 'mpiio' and kind in ('read', 'write') and file is not null
),
by_itself as materialized (
	select distinct file
	from counters
	where layer in ('posix', 'stdio') and kind in ('read', 'write') and file is not null and ({outermost} or file not in (from by_mpi))
)
select id, process, file, layer, file_offset as begins, file_offset + bytes as ends, kind = 'write' as wrote, start, start + duration as stop
from calls
where exists (from by_itself)
	and kind in ('read', 'write') and bytes > 0 and error = 0 and state = 'done' and file_offset is not null and layer in ('posix', 'stdio')
	and file in (from by_itself) and ({outermost_call} or file not in (from by_mpi))
union all
select id, process, file, layer, file_offset, file_offset + bytes, kind = 'write', start, start + duration
from calls
where kind in ('read', 'write') and bytes > 0 and error = 0 and state = 'done' and file_offset is not null and layer = 'mpiio'
	and (selection is null or selection not in (select selection from selections where not exact or blocks <> 1 or (period <> 0 and period <> total)))
