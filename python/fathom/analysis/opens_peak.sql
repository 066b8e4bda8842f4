-- Most opens that began in any second, of files by POSIX and C streams. Calls in full are told one by one. Those in counters only: the first of a
-- key is known, and the last ended at its end; the others are taken to lie evenly between. `counted`: how many are known so.
with opens as (
	select c.process, c.file, c.layer, c.op, c.calls, c.recorded, c.first_start, c.last_stop
	from counters as c left join files as f using (file)
	where c.kind = 'open' and c.layer in ('posix', 'stdio') and regexp_matches(c.op, '^(f?re)?f?open|creat|mks?o?s?temp|tmpfile|opendir') and {of_files}
),
keys as (
	select
		process, file, layer, op,
		sum(calls) as calls,
		sum(recorded) as recorded,
		min(first_start) as first,
		max(last_stop) as last
	from opens
	group by all
),
spread as (
	-- At most 1,000 moments of a key, each for as many.
	select
		first + (last - first)::hugeint * unnest(range(least(calls, 1000)::bigint)) // greatest(1, least(calls, 1000) - 1) as moment,
		calls / least(calls, 1000) as number
	from keys
	where recorded < calls
),
moments as (
	select moment, number from spread
	union all
	select c.start, 1 from calls as c join keys as k using (process, layer, op)
	where c.kind = 'open' and k.file is not distinct from c.file and k.recorded = k.calls
),
seconds as (
	select sum(number) over (order by moment range between 999999999 preceding and current row) as number
	from moments
)
select
	coalesce((select sum(calls) from keys), 0) as opens,
	coalesce((select max(number) from seconds), 0)::double as peak,
	coalesce((select sum(calls) from keys where recorded < calls), 0) as counted
