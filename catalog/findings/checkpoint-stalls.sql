-- title:  The program stands still while its state is saved
-- layer:  posix
-- limit:  files of a MiB and more that are made, written once from start to end, twice and more in the run. The main thread saves, and computes
--   until the next time. Less than 5 % of the run is not worth a thread
-- says:   {path}: {size:size} saved {rounds:count} times; {stall:seconds} of the main thread of process {process}[, and another waited
--   {others:seconds} meanwhile]
-- lost:   of each time the shorter of saving and of computing until the next, since both could run side by side. Of the slowest process
-- sure:   0.5
-- fix:    save a copy beside the next step, by a thread or process of its own[. {waiting} that wait meanwhile can each save a part]
-- causes: library, names, sync, requests, contention, transfer, unexplained
-- when:   (select coalesce(sum(bytes), 0) from counters where kind = 'write') >= 2097152
--   and (select count(*) from objects where flags & 64 <> 0 and flags & 3 <> 0) > 1
-- seen:   Mohan et al. 2021 (CheckFreq); Nicolae et al. 2020 (DeepFreeze), asynchronous checkpoints
with times as (
	select place, round, process, sum(main) as main, max(ended) as ended, min(began) as began
	from save_rounds()
	where process is not null
	group by all
),
paired as (
	select *, lead(began) over (partition by place, process order by round) - ended as gap from times
),
slowest as (
	select place, arg_max(process, lost) as process, max(lost) as lost
	from (select place, process, sum(least(main, greatest(0, coalesce(gap, 0)))) / 1e9 as lost from paired group by all)
	group by place
)
select
	c.place as path, c.bytes as size, c.rounds, s.process, c.stall / 1e9 as stall, c.others / 1e9 as others,
	if(c.writers = 1 and c.others > 0.5 * c.stall, 'Processes', null) as waiting,
	c.cell_files, 'write' as cell_way, c.calls, s.lost
from checkpoints() as c join slowest as s using (place)
where s.lost > 0.05 * (select duration / 1e9 from runs)
