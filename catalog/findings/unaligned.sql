-- title:  Accesses that cut the blocks of the file
-- layer:  posix
-- limit:  accesses of a page (4,096 bytes) and more that do not begin and end at its multiples take half as long again as those of this
--   run that do, of the same directory, direction and size (or larger ones); fewer than 16, or less slow, is chance.
--   Without aligned ones to compare with nothing is said: on most file systems the cache hides it
-- says:   {path}: {n:count} {what}s of {size:size} on average cut blocks of 4,096 bytes and take {each:seconds} each; aligned they take
--   {other:seconds}
-- lost:   what those of the slowest thread took more
-- sure:   0.7
-- fix:    begin records at multiples of the file system's block or stripe: pad the header, H5Pset_alignment in HDF5,
--   nc_var_align_size in PnetCDF
-- knob:   H5Pset_alignment, nc_var_align_size, striping_unit
-- seen:   Carns et al. 2011 (Darshan); drishti P08 counts them without their cost
with apart as (
	select
		p.place as path, p.directory, a.kind as what, a.process, a.stream, a.bin, sum(a.n) as n, sum(a.bytes) as bytes,
		exp(sum(a.log_time) / sum(a.n)) / 1e9 as each, max_by(a.worst, a.longest, 8) as worst
	from {accesses} as a join {places} as p using (file)
	where a.layer = 'posix' and not a.aligned and a.bin >= 12
	group by p.place, p.directory, a.kind, a.process, a.stream, a.bin
),
thread as (
	select
		path, what, process, stream, sum(n) as n, sum(bytes) as bytes, sum(n * a.each) as spent, sum(n * m.on_page) as other,
		flatten(list(worst)) as worst
	from apart as a join {matched} as m on m.directory = a.directory and m.kind = a.what and m.bin = a.bin
	where m.on_page is not null
	group by path, what, process, stream
)
select
	path,
	what,
	sum(n)::bigint as n,
	sum(bytes) / sum(n) as size,
	sum(spent) / sum(n) as each,
	sum(other) / sum(n) as other,
	list_slice(flatten(list(worst)), 1, 8) as calls,
	max(spent - other) as lost
from thread
group by path, what
having sum(n) >= 16 and sum(spent) > 1.5 * sum(other)
