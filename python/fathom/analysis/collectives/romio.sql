-- Processes whose every MPI file is ROMIO's, and was heard to be: ROMIO copies the communicator at each open. Its exchange is seen.
select process
from counters
where layer = 'mpiio' and op = 'MPI_File_open' or enclosing_layer = 'mpiio' and enclosing = 'MPI_File_open' and op = 'MPI_Comm_dup'
group by process
having sum(calls) filter (op = 'MPI_Comm_dup') >= greatest(1, sum(calls - errors) filter (op = 'MPI_File_open'))
