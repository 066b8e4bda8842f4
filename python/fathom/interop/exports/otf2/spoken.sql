-- The I/O paradigm that a layer speaks; other layers are their own. A part of other statements, after `with`.
spoken(layer, paradigm) as (
	values ('posix', 'POSIX'), ('aio', 'POSIX'), ('stdio', 'ISOC'), ('mpiio', 'MPI-IO'), ('hdf5', 'HDF5'), ('netcdf', 'netCDF'),
		('pnetcdf', 'PnetCDF')
)
