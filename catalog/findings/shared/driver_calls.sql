-- Calls of HDF5's file drivers that moved data, where it is known of which type. A table, so that the database knows how few they are
-- before it joins them with all calls.
-- Columns: id, process, parent, duration (ns), kind.
select id, process, parent, duration, if(op like 'H5FD_read%', 'read', 'write') as kind
from calls
where layer = 'hdf5' and op like 'H5FD%' and exists (from args where name = 'mem_type')
