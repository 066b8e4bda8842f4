-- Rows of `calls` of some ranks.
create or replace temp table generated_calls as
with of_tree as (
	select
		rank, files() * 3 + burst * (trees() * 5 + 3) + i * 5 as base, k, files() + burst * (trees() + 1) + i as number,
		if(reads, 'read', 'write') as kind, file, if(reads, 2, 1) as site, null as collective,
		case k when 0 then if(reads, 'H5Dread', 'H5Dwrite') when 1 then if(reads, 'MPI_File_read_at', 'MPI_File_write_at')
			else if(reads, 'pread', 'pwrite') end as op,
		case k when 0 then null when 1 then if(reads, 'H5Dread', 'H5Dwrite') else if(reads, 'MPI_File_read_at', 'MPI_File_write_at') end as enclosing,
		case k when 0 then start when 1 then start + before when 2 then start + before + 8000
			when 3 then start + before + 9000 + first_time else start + before + 10000 + first_time + second_time end as start,
		case k when 0 then time when 1 then time - before - 6000 when 2 then first_time when 3 then second_time else third_time end as duration,
		case k when 0 then time - before - 6000 when 1 then first_time + second_time + third_time else 0 end as nested,
		if(k < 2, 196608, 65536) as bytes, if(k = 0, null, block * 196608 + greatest(k - 2, 0) * 65536) as file_offset, [1, 2, 3, 3, 3][k + 1] as class
	from tree, range(5) as r(k)
),
of_frame as (
	select
		rank, seq as base, k, number, if(what = 'sync', 'sync', what) as kind, file, site, if(k < 2, collective + k, null) as collective,
		['H5Fopen', 'MPI_File_open', 'open', 'H5Fflush', 'MPI_File_sync', 'fsync', 'H5Fclose', 'MPI_File_close', 'close'][list_position(['open', 'sync', 'close'], what) * 3 - 2 + k] as op,
		['', 'H5Fopen', 'MPI_File_open', '', 'H5Fflush', 'MPI_File_sync', '', 'H5Fclose', 'MPI_File_close'][list_position(['open', 'sync', 'close'], what) * 3 - 2 + k] as enclosing,
		enter + k * 5000 as start,
		case k when 0 then leave + 10000 - enter when 1 then leave - enter - 5000 else (200000 + 100000 * chance(rank, seq, 10))::bigint end as duration,
		case k when 0 then leave - enter - 5000 when 1 then (200000 + 100000 * chance(rank, seq, 10))::bigint else 0 end as nested,
		null as bytes, null as file_offset, [0, 2, 3][k + 1] as class
	from frame, range(3) as r(k)
),
every as (
	select * from of_tree union all select * from of_frame
)
select
	(rank::ubigint << 40) + (base + k)::ubigint as id, rank as stream, rank as process, 1000 + rank % 64 as thread, rank,
	case k when 0 then null when 1 then (rank::ubigint << 40) + base::ubigint else (rank::ubigint << 40) + (base + 1)::ubigint end as parent,
	number as call, least(k, 2) as depth, ['hdf5', 'mpiio', 'posix'][least(k, 2) + 1] as layer, op, kind, nullif(enclosing, '') as enclosing, ['hdf5', 'mpiio'][least(k, 2)] as enclosing_layer,
	rank * 32 + file * 4 + class as object, file, start::bigint as start, duration::bigint as duration, nested::bigint as nested,
	bytes as size, file_offset, if(file_offset is null, null, 'given') as offset_from, bytes, if(bytes is null, 0, null) as result,
	0 as error, 'done' as state, if(k = 0, site, null) as site, collective, true as topmost
from every;
