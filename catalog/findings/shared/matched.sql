-- What accesses of a kind cost beside others of the same directory, direction and size: the typical cost (geometric mean) of those that lie
-- as one wants. Columns: directory, kind, bin, on_end (seconds of an access that begins where the one before ended), on_page
-- (seconds of one that begins and ends at a multiple of 4,096). Of a size where none lies so, the next larger ones: they
-- cost no less. Null where nobody of that size or a larger one lies so.
with sized as (
	select
		p.directory, a.kind, a.bin,
		exp(sum(a.log_time) filter (a.place = 'on') / sum(a.n) filter (a.place = 'on')) / 1e9 as on_end,
		exp(sum(a.log_time) filter (a.aligned) / sum(a.n) filter (a.aligned)) / 1e9 as on_page
	from {accesses} as a join {places} as p using (file)
	where a.layer = 'posix'
	group by p.directory, a.kind, a.bin
)
select
	directory, kind, bin,
	coalesce(on_end, min(on_end) over larger) as on_end,
	coalesce(on_page, min(on_page) over larger) as on_page
from sized
window larger as (partition by directory, kind order by bin rows between 1 following and unbounded following)
