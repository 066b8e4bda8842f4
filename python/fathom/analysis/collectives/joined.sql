-- Collective operations, and of how many ranks each was seen.
select
	layer,
	op,
	count(*) as operations,
	count(*) filter (ranks_seen < ranks_expected) as incomplete,
	count(*) filter (not agreed) as disagreeing,
	min(ranks_seen) as ranks_seen,
	max(ranks_expected) as ranks_expected
from collectives
group by layer, op
order by layer, op
