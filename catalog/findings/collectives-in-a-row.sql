-- title:  Collective calls one after another that could be one
-- layer:  pnetcdf, hdf5, mpiio
-- limit:  four or more collective calls of one kind on one open file, with less time between them than in one (median). Three are
--   within the noise of ranks that arrive apart
-- says:   {path}: {n:count} collective {what}s of {size:size} on average, up to {most:count} one right after another; they took
--   {seconds:seconds}, about {each:seconds} each whatever their size
-- lost:   what a call costs besides the store's time for its bytes and pieces, and besides the exchange that goes with bytes. The
--   median of that, at most the mean, times the calls that are one too many. Without the share of collective calls in which the
--   account has a rank wait for a processor
-- sure:   0.7
-- fix:    {fix}
-- causes: exchange, waiting, library, requests, names
-- seen:   Gao, Liao, Choudhary, Ross, Latham 2009 (PnetCDF's nonblocking calls); H5Dwrite_multi of HDF5 1.14
with caller as (
	select id as parent, layer, coalesce(own, id) as own
	from calls
	where layer in ('hdf5', 'netcdf', 'pnetcdf') and id in (select parent from collective_transfers())
),
metadata as (
	select call as parent from args where name = 'mem_type' and value <> 3
),
after as (
	select
		-- HDF5 may make one for each chunk of a call.
		t.*, if(c.layer = 'hdf5' and count(*) over (partition by c.own) > 1, 'chunks', coalesce(c.layer, 'mpiio')) as caller,
		t.first_enter - lag(t.last_leave) over (partition by handle, opened, file, kind order by ordinal)
			< median(t.last_leave - t.first_enter) over (partition by handle, opened, file, kind) as close
	from collective_transfers() as t left join caller as c using (parent)
	where t.asked > 0 and (t.parent is null or t.parent not in (from metadata))
),
island as (
	select
		*,
		sum(if(close, 0, 1)) over (partition by handle, opened, file, kind order by ordinal rows between unbounded preceding and current row)
			as number
	from after
),
running as (
	select 1 - coalesce(max(part), 0) as share
	from (select process, sum(time) filter (cause = 'processor') / sum(time) as part from account() where collective group by process)
),
-- One call for all makes as many accesses, but for one, and exchanges as many bytes.
beside as (
	select
		i.*,
		greatest(
			0, wall / 1e9 - greatest(asked / greatest(1, movers) * s.per_byte, io / 1e9 - s.latency)
			- if(two_phase, coalesce(x.per_byte, 0) * asked / greatest(1, movers), 0)
		) as of_call
	from island as i join access_costs() as s using (file, kind) left join exchange_costs() as x using (file, kind)
),
alone as (
	select
		file, kind, caller, count(*) as n, sum(asked)::hugeint as asked, sum(wall) / 1e9 as seconds,
		least(quantile_cont(of_call, 0.5), avg(of_call)) * (select share from running) as each, flatten(max_by(calls, wall, 2)) as calls
	from beside
	group by handle, opened, number, file, kind, caller
	having count(*) >= 4
)
select
	p.place as path,
	a.kind as what,
	sum(a.n)::hugeint as n,
	sum(a.asked) / sum(a.n) as size,
	max(a.n) as most,
	sum(a.seconds) as seconds,
	sum(a.each * a.n) / sum(a.n) as each,
	case a.caller
		when 'pnetcdf' then 'post them (ncmpi_i' || if(a.kind = 'read', 'get', 'put') || '_…) and complete all by one ncmpi_wait_all'
		when 'netcdf' then 'PnetCDF''s nonblocking calls; or one variable with one more dimension'
		when 'chunks' then 'larger chunks (H5Pset_chunk), or all of a call at once (H5Pset_dxpl_mpio_chunk_opt with H5FD_MPIO_CHUNK_ONE_IO)'
		when 'hdf5' then '[hdf5 1.14: H5D' || a.kind || '_multi for datasets of the same moment; or ]one dataset with one more dimension'
		else 'one call by a view and a datatype that cover all of them (MPI_Type_create_struct)'
	end as fix,
	flatten(max_by(a.calls, a.seconds, 2)) as calls,
	sum(a.each * (a.n - 1)) as lost
from alone as a join places() as p using (file)
-- What such a call costs is not known of ranks that share processors.
where not exists (from account_crowded())
group by p.place, a.kind, a.caller
