-- What an access of the store costs, learnt from this run's own calls: of each file, for reads and for writes,
--
--	seconds of an access = latency + bytes * per_byte
--
-- A line through what accesses of each size took (geometric means: a few slow ones do not move it), fitted by least squares of
-- the relative error, so that small sizes say the latency and large ones the rate. `learnt` says of what, the first that holds:
--	sizes       accesses of this direction to files of the directory, whose sizes differ by 4 and more; of those below a page only a
--	            line no steeper than `page` allows: a steeper one is a few of rare sizes that lost their processor
--	direction   only one size there; the cost of a byte as in the other direction, the rest is latency
--	system      the file system's other directories
--	page        only sizes below 4,096 bytes: the kernel moves whole pages, so the bytes cost at most what a page's take;
--	            the latency is then a lower bound
-- Null where nothing of that is there. Time in which ranks waited for one another at the store is part of it: that is what an
-- access costs under this run's load. Columns: file, kind, latency (seconds), per_byte (seconds), half (bytes at
-- which both weigh the same: smaller ones are mostly latency), learnt.
with point as (
	select
		p.directory, p.system, a.kind, a.bin, sum(a.n)::double as n, sum(a.bytes) / sum(a.n)::double as x,
		exp(sum(a.log_time) / sum(a.n)) / 1e9 as y
	from {accesses} as a join {places} as p using (file)
	where a.layer = 'posix'
	group by p.directory, p.system, a.kind, a.bin
	union all
	-- A stream of C passes large pieces on as they are, and gathers small ones in its buffer, a block of the file.
	select
		p.directory, p.system, a.kind, greatest(12, a.bin), sum(if(a.bin < 12, a.bytes / 4096, a.n)), greatest(4096, sum(a.bytes) / sum(a.n)),
		if(any_value(a.bin) < 12, sum(a.time) / sum(a.bytes) * 4096, exp(sum(a.log_time) / sum(a.n))) / 1e9
	from {accesses} as a join {places} as p using (file)
	where a.layer = 'stdio' and a.time > 0
	group by p.directory, p.system, a.kind, greatest(12, a.bin), a.bin < 12
),
-- The same points once for each directory, once for each file system.
grouped as (
	select directory as name, false as whole, * from point
	union all
	select system, true, system as directory, system, kind, bin, sum(n), sum(n * x) / sum(n), exp(sum(n * ln(y)) / sum(n))
	from point
	group by system, kind, bin
),
sums as (
	select
		name, whole, kind, max(x) >= 4 * min(x) as sizes, max(x) as largest,
		sum(w) as w, sum(w * x) as wx, sum(w * y) as wy, sum(w * x * x) as wxx, sum(w * x * y) as wxy,
		sum(n * x) / sum(n) as mean_size, exp(sum(n * ln(y)) / sum(n)) as mean_time
	from (select *, ln(1 + n) / (y * y) as w from grouped)
	group by name, whole, kind
),
line as (
	select
		*, (w * wxy - wx * wy) / nullif(w * wxx - wx * wx, 0) as slope, (wy * wxx - wx * wxy) / nullif(w * wxx - wx * wx, 0) as at_zero
	from sums
),
-- Neither part of a cost is below zero: then the other one is all of it.
fit as (
	select
		name, whole, kind, mean_size, mean_time,
		sizes and (largest >= 4096 or slope <= mean_time / 4096) as told,
		case when not told then null when slope <= 0 then wy / w when at_zero <= 0 then 0 else at_zero end as latency,
		case when not told then null when slope <= 0 then 0 when at_zero <= 0 then wxy / wxx else slope end as per_byte
	from line
),
known as (
	select
		here.name as directory, here.kind,
		case
			when here.latency is not null then {'latency': here.latency, 'per_byte': here.per_byte, 'learnt': 'sizes'}
			when other.latency is not null then {
				'latency': greatest(0, here.mean_time - here.mean_size * other.per_byte), 'per_byte': other.per_byte, 'learnt': 'direction'
			}
		end as of_directory,
		case when here.mean_size < 4096 then {
			'latency': here.mean_time * (1 - here.mean_size / 4096), 'per_byte': here.mean_time / 4096, 'learnt': 'page'
		} end as of_page
	from fit as here left join fit as other on not other.whole and here.name = other.name and here.kind <> other.kind
	where not here.whole
),
cost as (
	select
		p.file, k.kind,
		coalesce(
			of_directory, case when fit.latency is not null then {'latency': fit.latency, 'per_byte': fit.per_byte, 'learnt': 'system'} end, of_page
		) as c
	from known as k join {places} as p using (directory)
	left join fit on fit.whole and fit.name = p.system and fit.kind = k.kind
)
select file, kind, c.latency, c.per_byte, c.latency / nullif(c.per_byte, 0) as half, c.learnt
from cost
where c is not null
