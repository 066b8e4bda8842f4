-- How each file was accessed, layer by layer: Darshan's per-file view. Shares are of the accesses whose order, alignment or shape was counted.
with accesses as (
	select c.* replace ({direction} as kind), if({beside}, 0, calls - errors) as accesses
	from counters as c left join files as f using (file)
	where c.file is not null and {direction} is not null and layer not in ('fathom', 'user', 'threads', 'mpi') and {of_files}
		and (enclosing is null or (enclosing_layer, enclosing) not in (select (layer, op) from ops where kind = 'comm'))
),
common as (
	select file, layer, arg_max(value, calls) as common_size, max(calls) as common_calls, arg_max(bound, calls) as common_bound
	from (
		select file, layer, value, sum(calls) as calls, sum(bound) as bound
		from tops
		where what = 'size'
		group by file, layer, value
	)
	group by file, layer
),
each as (
	select
		file,
		layer,
		count(distinct process)::bigint as processes,
		coalesce(sum(accesses) filter (kind = 'read'), 0) as reads,
		coalesce(sum(accesses) filter (kind = 'write'), 0) as writes,
		coalesce(sum(bytes), 0) as bytes,
		sum(sequential) / nullif(sum(accesses) filter (sequential is not null), 0) as sequential,
		sum(consecutive) / nullif(sum(accesses) filter (consecutive is not null), 0) as consecutive,
		sum(strided) / nullif(sum(accesses) filter (strided is not null), 0) as strided,
		sum(unaligned_file) / nullif(sum(accesses) filter (unaligned_file is not null), 0) as unaligned_file,
		sum(unaligned_memory) / nullif(sum(accesses) filter (unaligned_memory is not null), 0) as unaligned_memory,
		sum(holes_file + holes_both) / nullif(sum(accesses) filter (holes_file is not null), 0) as holes_file,
		sum(switches) as switches
	from accesses
	group by file, layer
	having count(sequential) + count(switches) + count(size_histogram) > 0
)
select coalesce(f.path, '') as path, each.* exclude (file), common_size, common_calls::bigint as common_calls, common_bound::bigint as common_bound
from each left join common using (file, layer) left join files as f using (file)
order by bytes desc, path, layer
