-- The stripe of file {file}, as MPI-IO's hints in force say it.
select max(try_cast(value as bigint)) as stripe from hints_in_force where file = {file} and key = 'striping_unit' and source = 'in force'
