-- title:  Uneven I/O between ranks
-- layer:  posix
-- limit:  a rank has 1.5 times the mean's work: bytes, or calls that move none, at the mean speed of all ranks. Collective calls
--   are left out, since all wait for all. Its I/O takes longer than the mean rank's
-- says:   rank {rank} has {times:times} the work of the mean of {ranks:count} ranks: {bytes:size} in {calls_made:count} calls, mean {mean_bytes:size}
--   in {mean_calls:count}; its I/O takes {seconds:seconds}, the mean rank's {mean_seconds:seconds}
-- lost:   time of the rank with the most work less the mean's, at mean speed. At most what its I/O takes longer than the mean's,
--   what the others waited (median), and the run
-- sure:   0.7
-- fix:    give each rank as many bytes, or let a collective call spread them over its aggregators
-- needs:  counters, ranks
-- causes: waiting, library, names, sync, locks, needless, requests, contention, transfer, unexplained
-- seen:   Darshan's per-rank counters; Bez et al. 2022 (Drishti) for whom to blame
with own as (
	select o.*, if(o.kind in ('read', 'write') and o.bytes > 0, o.bytes, o.calls) as amount
	from own_by_process() as o left join ops using (layer, op)
	where rank is not null and not coalesce(ops.collective, false)
		and (o.layer, o.op) not in (
			select (t.layer, t.op) from tops as t join ops as f on f.layer = t.layer and f.op = t.label
			where t.what = 'function' and f.collective
		)
),
speed as (
	select layer, op, sum(time) / sum(amount) as each from own group by layer, op
),
of_rank as (
	select
		w.rank,
		w.process,
		w.waited,
		coalesce(sum(o.amount * each), 0) / 1e9 as work,
		coalesce(sum(o.time), 0) / 1e9 as seconds,
		coalesce(sum(o.bytes) filter (o.kind in ('read', 'write')), 0)::hugeint as bytes,
		coalesce(sum(o.calls), 0)::hugeint as calls_made
	from waited_for_others() as w left join own as o using (process) left join speed using (layer, op)
	group by w.rank, w.process, w.waited
),
whole as (
	select
		arg_max(process, work) as process,
		arg_max(rank, work) as rank,
		count(*) as ranks,
		max(work) as most,
		avg(work) as mean_work,
		avg(bytes)::bigint as mean_bytes,
		avg(calls_made)::bigint as mean_calls,
		avg(seconds) as mean_seconds,
		arg_max(bytes, work) as bytes,
		arg_max(calls_made, work) as calls_made,
		arg_max(seconds, work) as seconds,
		max(bytes) / nullif(sum(bytes), 0) as share
	from of_rank
),
waiting as (
	select median(o.waited) / 1e9 as waited from of_rank as o, whole where o.process <> whole.process
),
suspects as materialized (
	select
		whole.*,
		most / mean_work as times,
		least(most - mean_work, seconds - mean_seconds, waited, (select duration / 1e9 from runs)) as lost,
		if(waited is null, 0.4, 0.7) as sure
	from whole, waiting
	where ranks > 1 and most > 1.5 * mean_work and coalesce(share, 0) < 0.95
		and lost > greatest(0.01, (select duration / 1e11 from runs))
)
select suspects.*, e.calls from suspects left join longest_own_calls('suspects') as e using (process)
