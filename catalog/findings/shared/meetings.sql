-- Operations of the whole job in which all ranks wait for all.
-- Columns: process, entered, was_left (ns), entered_so_far, left_so_far (how many the process had entered and left then, this one too).
select
	c.process, c.start as entered, c.start + c.duration as was_left,
	count(*) over (partition by c.process order by c.start) as entered_so_far,
	count(*) over (partition by c.process order by c.start + c.duration) as left_so_far
from calls as c join objects as o using (object)
where exists (from {overlaps}) and o.communicator_size = (select ranks from runs) and c.error = 0 and c.state = 'done'
	and (c.layer = 'mpi' and regexp_full_match(c.op, 'MPI_(Barrier|Allreduce|Allgatherv?|Alltoall[vw]?|Reduce_scatter(_block)?|Comm_(dup|split|create))')
		or c.layer = 'mpiio' and c.op = 'MPI_File_open')
