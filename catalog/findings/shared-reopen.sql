-- title:  A library opens and closes a file again and again
-- layer:  mpiio, hdf5, netcdf
-- limit:  a process opened a file 4 times or more through its I/O library. What is opened in it is opened anew each time, and each open
--   of a shared file is a step of all ranks together
-- says:   {path}: opened {opens:count} times by {who} ({op}); {seconds:seconds} in opens and closes of the slowest
-- lost:   opens and closes of the file and of what is in it, by the slowest process, but for the longest ones
-- sure:   0.8
-- fix:    open once and close after the last use; [hdf5: H5Fflush][netcdf: nc_sync][mpiio: MPI_File_sync]
--   where others must see the data before
-- needs:  counters
-- causes: names, sync, exchange, waiting, locks
-- seen:   Thakur, Ross, Latham, users' guide of ROMIO; SCORPIO, E3SM
with each as (
	select
		p.place as path, c.file, c.process,
		sum(c.calls - c.errors) filter (is_file_open(c.op)) as opens, sum(c.time) / 1e9 as seconds, sum(c.time - c.longest) / 1e9 as lost,
		string_agg(distinct c.op, ', ') filter (is_file_open(c.op)) as op
	from counters as c join places() as p using (file)
	where is_library(c.layer) and c.kind in ('open', 'close', 'meta') and is_outermost(enclosing_layer, enclosing)
	group by p.place, c.file, c.process
	having opens >= 4
),
process as (
	select path, process, sum(opens) as opens, sum(seconds) as seconds, sum(lost) as lost, any_value(op) as op
	from each
	group by path, process
),
example as (
	select p.place as path, max_by(c.id, c.duration, 4) as calls
	from calls as c join places() as p using (file)
	where c.file in (select file from each) and is_file_open(c.op)
	group by p.place
)
select
	path, max(opens)::bigint as opens, if(count(*) = 1, 'one process', format('each of {} processes', count(*))) as who,
	any_value(op) as op, max(seconds) as seconds, any_value(e.calls) as calls, max(lost) as lost
from process left join example as e using (path)
group by path
