-- title:  One rank does the I/O, the others wait
-- layer:  posix
-- limit:  one rank moves 95 % of the bytes that the program's own calls ask for; the rest are headers and logs. So an aggregator
--   does not count
-- says:   rank {rank} moved {share:percent} of the {bytes:size} that the ranks read and wrote, in {seconds:seconds}{unheard}[; half of
--   the other {others:count} waited {waited:seconds} and longer]
-- lost:   that rank's time in reads, writes and syncs less its equal share, at most what the other ranks waited (median). Opens and the
--   like stay, whoever moves the bytes
-- sure:   0.7
-- fix:    let each rank move its own part: a file per rank for few ranks, one shared file by collective calls (MPI_File_write_all) else
-- knob:   [netcdf|hdf5: the file opened on MPI_COMM_WORLD instead of rank 0's]
-- needs:  counters, ranks
-- causes: waiting, library, sync, locks, needless, requests, contention, transfer, unexplained
-- seen:   Chang, Jin, Bauer 2016: 8 of 13 programs
with of_rank as (
	select
		rank, process, coalesce(sum(bytes) filter (kind in ('read', 'write', 'wait')), 0)::hugeint as bytes,
		coalesce(sum(time) filter (kind not in ('open', 'close', 'meta', 'dir')), 0) / 1e9 as seconds
	from own_by_process()
	where rank is not null
	group by rank, process
),
most as (
	select
		arg_max(process, bytes) as process,
		arg_max(rank, bytes) as rank,
		max(bytes) as most,
		sum(bytes)::hugeint as bytes,
		arg_max(seconds, bytes) as seconds
	from of_rank
),
others as (
	select count(*) as others, median(w.waited) / 1e9 as waited
	from waited_for_others() as w, most
	where w.process <> most.process
),
suspects as materialized (
	select
		process,
		rank,
		bytes,
		most / bytes as share,
		seconds,
		others,
		waited,
		least(seconds * others / (others + 1), waited) as lost,
		if(waited is null, '; how long the others waited was not recorded', '') as unheard,
		if(waited is null, 0.4, 0.7) as sure
	from most, others
	where others > 0 and bytes > 0 and most >= 0.95 * bytes
		and least(seconds * others / (others + 1), waited) > greatest(0.01, (select duration / 1e11 from runs))
)
select suspects.* exclude (process), e.calls from suspects left join longest_own_calls('suspects') as e using (process)
