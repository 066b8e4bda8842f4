-- Processes whose MPI-IO is OMPIO's, which takes few hints and has parameters of its own (ompi_info --param).
-- Columns: process.
select process from processes where mpi like '%Open MPI%' and process not in (from {romio})
