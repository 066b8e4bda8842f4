-- Rows of all parts of the run, as one answer.
select
	collective, layer, op, path, ranks_seen, ranks_expected, start, elapsed, waiting, bytes, sum(members) as members,
	max(longest) as longest, arg_max(slowest, {time: longest, first: -slowest}) as slowest, sum(total) as total,
	max(talk) as talk, sum(talk_sum) as talk_sum, max(storage) as storage, sum(storage_sum) as storage_sum,
	sum(accesses) as accesses, list_distinct(flatten(list(servers))) as servers
from partials
group by all
order by start, collective
