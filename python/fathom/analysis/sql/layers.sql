-- Made from catalog/layers.toml by `make facts`.

-- Is it a layer of a library of I/O?
create or replace macro is_library(layer) as
layer in ('netcdf', 'pnetcdf', 'hdf5', 'mpiio', 'fortran');

-- Is it a layer of the operating system's I/O?
create or replace macro is_system(layer) as
layer in ('stdio', 'aio', 'posix');

-- Is it a layer of the client of a storage system?
create or replace macro is_store(layer) as
layer in ('dfs', 'daos');

-- Do its calls not say how many bytes they move?
create or replace macro is_silent(layer) as
layer in ('fortran');
