-- title:  Data are moved to make room for a longer header
-- layer:  netcdf, pnetcdf
-- limit:  a definition ends by reading and writing back more than 64 KiB, more than a header of hundreds of variables: data
--   behind it move. Of calls that were only counted, so much each. At level `job`, which knows no files, of all together
-- says:   {path}: {op} read {read:size} and wrote them back further on; {seconds:seconds} of the slowest process
-- lost:   the calls that end those definitions, of the slowest process
-- sure:   0.9
-- fix:    define all dimensions, variables and attributes before the first data; or leave room: [netcdf: nc__enddef with h_minfree][pnetcdf:
--   ncmpi__enddef with h_minfree, or nc_header_align_size]
-- knob:   [pnetcdf: nc_header_align_size]
-- needs:  counters
-- causes: names, needless, transfer, exchange, waiting, requests, contention, unexplained, library
-- seen:   netCDF User's Guide, nc_redef; PnetCDF release notes
with process as (
	select file, op, process, sum(read)::hugeint as read, sum(time) / 1e9 as seconds, flatten(max_by(calls, time, 2)) as calls
	from definitions()
	where read > 65536 * n and written >= 0.5 * read
	group by file, op, process
)
select
	coalesce(p.place, 'all files') as path,
	m.op,
	sum(m.read)::hugeint as read,
	max(m.seconds) as seconds,
	flatten(max_by(m.calls, m.seconds, 2)) as calls,
	max(m.seconds) as lost
from process as m left join places() as p using (file)
where m.file is null or p.file is not null
group by p.place, m.op
