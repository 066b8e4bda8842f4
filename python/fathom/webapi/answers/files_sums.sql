-- Of each {by}: bytes are those of the lowest layer that moved any, so that one transfer seen in three layers counts once; time is that of
-- outermost calls, which hold the others. A part of files_tree.sql and files_ranks.sql.
sums as (
	select
		{by},
		count(distinct process) as lanes,
		sum(calls) as calls,
		coalesce(nullif(sum(bytes) filter (kind = 'read' and layer in ('posix', 'aio')), 0), nullif(sum(bytes) filter (kind = 'read' and layer = 'mpiio'), 0), sum(bytes) filter (kind = 'read'), 0) as bytes_read,
		coalesce(nullif(sum(bytes) filter (kind = 'write' and layer in ('posix', 'aio')), 0), nullif(sum(bytes) filter (kind = 'write' and layer = 'mpiio'), 0), sum(bytes) filter (kind = 'write'), 0) as bytes_written,
		sum(time) filter (outermost) as time
	from file_calls
	group by {by}
)
