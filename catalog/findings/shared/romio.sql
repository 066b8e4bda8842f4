-- Processes whose MPI-IO is ROMIO's: its own files have keys that nobody asked for, or copy the communicator
-- (analysis/collectives/exchange.sql). Where MPI is Open MPI, the others' is OMPIO's.
-- Columns: process.
select distinct process from counters where enclosing_layer = 'mpiio' and enclosing = 'MPI_File_open' and op = 'MPI_Comm_dup'
union
select distinct process from hints_in_force where source = 'in force' and key = 'romio_filesystem_type'
