-- What the program called: of each chosen outermost call the call itself, or the region around its own calls. A part, after `chosen` and
-- `picked` (picked.sql).
outer_call as (
	select process, call, op, start from picked where outermost
	union all
	select c.process, c.call, c.op, c.start
	from calls as c semi join chosen using (process, call)
	where $regions and is_region(c.layer) and c.parent is null
)
