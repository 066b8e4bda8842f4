-- Whether processes could order their accesses in ways that are not known: processes that are no ranks, messages and groups that were
-- counted only or are no `meetings`, collective I/O that may wait, locks, meetings of which some are missing, and runs of other tools, which
-- record no communicators.
-- Columns: talk.
select
	exists (select 1 from {suspects} join processes as p using (process) where p.rank is null)
	or exists (
		select 1 from counters as c
		where c.layer = 'mpi' and c.enclosing_layer is distinct from 'mpiio' and (c.recorded < c.calls
			or not regexp_full_match(c.op, 'MPI_(Init.*|Finalize|Barrier|Allreduce|Allgatherv?|Alltoall[vw]?|Reduce_scatter(_block)?|Comm_(dup|split|create|free))'))
	)
	or exists (select 1 from calls as c join objects as o using (object) where c.layer = 'mpi' and o.communicator_size < (select ranks from runs))
	or exists (select 1 from counters as c join ops as o using (layer, op) where c.layer = 'mpiio' and o.collective and c.op <> 'MPI_File_open')
	or exists (select 1 from counters where op in ('flock', 'lockf') or layer = 'posix' and op = 'fcntl' and enclosing_layer is distinct from 'mpiio')
	or (
		select count(distinct most) > 1
		from (select p.process, max(entered_so_far) as most from processes as p left join {meetings} using (process) where p.rank is not null group by p.process)
	)
	or exists (select 1 from marks where kind in ('darshan', 'dftracer', 'recorder', 'strace'))
	as talk
