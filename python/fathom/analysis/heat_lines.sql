-- `line`: ranks, or processes where there are no ranks ($ranks), in order and cut into at most $lines lines of neighbours. Present are the processes
-- that count outside MPI. `who`: of each process its line (null: it is no rank's), and, where several threads did I/O for one rank, that
-- rank as `owner` and itself as `maker`, since what they do side by side counts once; else both are null. A part of other
-- statements, after `with`.
part as (
	select greatest(1, ceil(duration / $bins))::bigint as width from runs
),
unit as (
	select distinct if($ranks, rank, process) as unit
	from processes
	where if($ranks, rank is not null, process in ({present}))
),
placed as (
	select unit, (row_number() over (order by unit) - 1) // ceil(count(*) over () / $lines)::bigint as line from unit
),
line as (
	select line, min(unit) as first_unit, max(unit) as last_unit, count(*) as units from placed group by line
),
threads as (
	select process, if($ranks, rank, process) as unit, count(stream) as streams
	from processes left join streams using (process)
	group by process, unit
),
several as (
	select *, if(unit is null, streams, sum(streams) over (partition by unit)) > 1 as together from threads
),
who as (
	select process, line, if(together, coalesce(unit, -1), null) as owner, if(together, process, null) as maker
	from several left join placed using (unit)
)
