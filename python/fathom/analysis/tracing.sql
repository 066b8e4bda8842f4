-- Fathom's own rows: seals, sends, growth of rings.
select
	coalesce(sum(calls), 0)::bigint as calls,
	coalesce(sum(time), 0)::bigint as time
from counters
where layer = 'fathom'
