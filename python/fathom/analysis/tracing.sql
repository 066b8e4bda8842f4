-- Fathom's own rows: seals, sends, growth of rings.
select
	coalesce(sum(calls), 0) as calls,
	coalesce(sum(time), 0) as time
from counters
where layer = 'fathom'
