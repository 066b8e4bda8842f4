-- Calls of a netCDF library that end a definition. A table, so that the database knows how few they are before it joins them with all calls.
-- Columns: id, op.
select id, op
from calls
where layer in ('netcdf', 'pnetcdf') and op in ('nc_enddef', 'nc__enddef', 'ncmpi_enddef', 'ncmpi__enddef')
