-- What reached servers, which go by their numbers: of a traced server what it did for a call (reached_servers.sql), else the call on a file
-- itself (reached_files.sql). `single`: there is no other of its outermost call. A part, after units.sql.
{inside},
numbered_file as materialized (
	select f.file, s.number from server_file as f join server as s using (server)
),
every_request as not materialized (
	{reached}
),
{counted}
