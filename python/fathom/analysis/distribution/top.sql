-- Calls on the highest layer that Fathom knows arrays or bytes of: calls that no call of such a layer holds. $inside:
-- some are inside of regions, waits for threads or functions of a user's own catalogue. $part: the share of each thread's rows that is
-- looked at, from its first on, and of each no fewer than 16: of very many threads that make few calls a share is none. Calls that failed are left out.
-- `direction` is null where no data move. A part of other statements, after `with recursive`.
known as (
	select unnest(['netcdf', 'pnetcdf', 'hdf5', 'mpiio', 'stdio', 'aio', 'posix', 'mpi', 'fathom']) as layer
),
talk as (
	select file from files as f where not ({of_files})
),
holder as (
	select id from calls where $inside and parent is null and layer not in (from known)
	union all
	select c.id from holder join calls as c on c.parent = holder.id where c.layer not in (from known)
),
looked as (
	select stream, ((stream::ubigint << 40) + greatest(ceil(events * $part), 16)::ubigint) as beyond from streams
),
data as not materialized (
	select c.id, c.process, c.layer, c.op, c.kind, c.object, c.file, c.start, c.size, c.bytes, c.file_offset, c.selection, c.collective
	from calls as c join looked as l using (stream)
	where depth = 0 and not {beside} and c.id < l.beyond and error = 0 and c.file is not null
		and c.layer in (from known) and c.layer not in ('mpi', 'fathom') and c.file not in (from talk)
	union all
	select c.id, c.process, c.layer, c.op, c.kind, c.object, c.file, c.start, c.size, c.bytes, c.file_offset, c.selection, c.collective
	from calls as c join holder as h on c.parent = h.id join looked as l using (stream)
	where $inside and not {beside} and c.id < l.beyond and error = 0 and c.file is not null
		and c.layer in (from known) and c.layer not in ('mpi', 'fathom') and c.file not in (from talk)
),
top as not materialized (
	select
		c.*,
		coalesce(p.rank, p.process)::bigint as who,
		least(case when kind = 'post' then size else coalesce(bytes, size) end, size) as moved,
		{direction} as direction
	from data as c join processes as p using (process), (select bool_or(rank is not null) as mpi from processes) as job
	where p.rank is not null or not job.mpi
)
