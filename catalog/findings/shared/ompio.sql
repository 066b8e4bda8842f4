-- Is MPI-IO OMPIO's, which takes no hint of ROMIO's but parameters of its own (ompi_info --param)?
-- Columns: ompio; one row.
select count(*) > 0 as ompio from processes where mpi like '%Open MPI%' and process not in (from {romio})
