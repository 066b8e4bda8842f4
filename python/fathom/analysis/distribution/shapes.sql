-- The selections that calls of the arrays' libraries and of MPI-IO used.
select
	selection::bigint as selection, form, exact, displacement, period::bigint as period, total::bigint as total, hash, box_start, box_count,
	block_start, block_count, part_start, part_bytes, part_levels, part_count, part_stride
from selections
where selection in (select distinct selection from calls where selection is not null and layer in ('netcdf', 'pnetcdf', 'hdf5', 'mpiio'))
