-- Requests that are the only one of their outermost call, straight from the calls: a scan, of which the longest are found without a look at the
-- others. `lone` (lone.sql, lone_whole.sql): before it is asked whose server the file's is.
{lone},
single as not materialized (
	select o.*, f.number from lone as o join numbered_file as f using (file) where {servers_set}
)
