-- title:  A start-up that reads many small files of a network's file system
-- layer:  posix
-- limit:  a run-time asks servers for 16 files and more, for more than 2 % of the run: what everyday programs take is below that. Its files
--   are an interpreter's modules, libraries and settings. Functions that took a file no longer than its page cache does asked none
-- says:   {path} ({file_system}): {n:count} calls on {files:count} files that the run-time needs, {failed:count} of them on names that are not
--   there: {seconds:seconds} of the slowest process, {names:seconds} of it for names, until {until:seconds} of the run. Of the files
--   {modules:count} are modules of Python, {libraries:count} libraries
-- lost:   that time of the slowest process, less what as many calls on a local file system cost
-- sure:   0.8
-- fix:    keep what is imported on the nodes: a container or a SquashFS image. Or a copy of the environment in /tmp, made once a node
--   (conda-pack, sbcast); for libraries Spindle[python: . Fewer folders in PYTHONPATH, since
--   each import asks one after the other]
-- needs:  counters
-- causes: start-up
-- seen:   Frings et al. 2013, massively parallel loading (Spindle)
with asked as (
	select c.*
	from start_up_counters() as c join stores() as s on s.store = store_of(c.file_system) and s.direction = 'read'
	where c.time > 1e9 * s.cached_high * c.calls
),
each as (
	select
		mount, any_value(file_system) as file_system, chain, count(distinct file) as files, sum(calls) as n, sum(errors) as failed, sum(time) / 1e9 as seconds,
		coalesce(sum(time) filter (kind in ('open', 'close', 'meta', 'dir')), 0) / 1e9 as names, max(last_stop) / 1e9 as until,
		count(distinct file) filter (regexp_matches(path, '[.]pyc?$') and calls > errors) as modules,
		count(distinct file) filter (regexp_matches(path, '[.]so([.]|$)') and calls > errors) as libraries,
		list(distinct file) as cell_files
	from asked join chains() using (process)
	group by mount, chain
	having count(distinct file) >= 16
),
slowest as (
	from each qualify row_number() over (partition by mount order by seconds desc, chain) = 1
),
local_store as (
	select max(cached_high) as request from stores() where kind = 'local' and direction = 'read'
)
select
	coalesce(mount, file_system) as path,
	cell_files,
	file_system,
	n::hugeint as n,
	files,
	failed::hugeint as failed,
	seconds,
	names,
	until,
	modules,
	libraries,
	[]::ubigint[] as calls,
	seconds - n * request as lost,
	true as in_turn
from slowest, local_store
where seconds - n * request > 0.02 * (select duration / 1e9 from runs)
