-- Groups of ranks that files and messages were for, by their hash: `members` are world ranks in the group's own order, as each rank said which
-- it is; null where a rank is missing.
with claims as (
	select distinct o.group_hash, o.communicator_size, o.group_members, o.group_rank, p.rank
	from objects as o join processes as p using (process)
	where o.group_hash is not null and p.rank is not null
)
select group_hash, coalesce(max(communicator_size), max(len(group_members))) as size,
	case
		when max(len(group_members)) >= coalesce(max(communicator_size), 0) then any_value(group_members)
		when count(distinct group_rank) = max(communicator_size) then list_transform(list_sort(list(distinct {'at': group_rank, 'rank': rank})), lambda one: one.rank)
	end as members
from claims group by group_hash order by group_hash
