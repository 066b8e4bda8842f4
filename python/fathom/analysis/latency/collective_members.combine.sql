select
	collective, layer, op, path, ranks_seen, ranks_expected, start, elapsed, waiting, bytes, sum(members)::bigint as members,
	max(longest) as longest, arg_max(slowest, {time: longest, first: -slowest}) as slowest, sum(total)::bigint as total,
	max(talk) as talk, sum(talk_sum)::bigint as talk_sum, max(storage) as storage, sum(storage_sum)::bigint as storage_sum,
	sum(accesses)::bigint as accesses, list_distinct(flatten(list(servers))) as servers
from partials
group by all
order by start, collective
