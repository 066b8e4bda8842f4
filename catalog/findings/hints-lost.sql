-- title:  Hints that were asked for and are not in force
-- layer:  mpiio
-- limit:  any: a hint that does nothing is a mistake, or meant for another library
-- says:   {path}: {what}[; MPI-IO's calls there took the slowest rank {seconds:seconds}]
-- lost:   not known: a danger, at most what the calls took
-- sure:   0.9
-- fix:    {fix}
-- ompio:  --mca io {romio}
-- when:   exists (from hints_in_force where source = 'asked')
-- seen:   open-mpi/ompi#10132; an MPI may echo hints that it does not know, so the effect counts
with asked as (
	select process, object, file, key, arg_max(value, value) as value from hints_in_force where source = 'asked' group by all
),
held as (
	select process, object, key, any_value(value) as value from hints_in_force where source = 'in force' group by all
),
-- OMPIO knows a handful of keys and echoes all.
judged as (
	select
		a.file, o.created_by as opened,
		case
			when h.key is null then format('{}={} is not known to the MPI library', a.key, a.value)
			when h.value <> a.value and (try_cast(h.value as double) is distinct from try_cast(a.value as double))
				then format('{}={} was asked for, {} is in force', a.key, a.value, h.value)
			when a.process in (from ompio_users())
				and a.key not in ('cb_nodes', 'cb_buffer_size', 'collective_buffering', 'stripe_size', 'stripe_width', 'access_style')
				then format('{}={} is echoed, but OMPIO does not use it', a.key, a.value)
		end as what,
		a.process in (from ompio_users()) as ompio
	from asked as a join objects as o on o.object = a.object and o.class = 'mpi_file'
	left join held as h on h.process = a.process and h.object = a.object and h.key = a.key
	where a.key not like 'nc_%' and a.key not like 'pnetcdf_%' and a.key not like 'tuned %'
),
of_file as (
	select file, string_agg(distinct what, '; ' order by what) as what, bool_or(ompio) as ompio, list(distinct opened)[:2] as calls
	from judged
	where what is not null
	group by file
),
spent as (
	select o.what, c.process, sum(c.time) / 1e9 as seconds
	from of_file as o join counters as c using (file)
	where c.layer = 'mpiio'
	group by o.what, c.process
)
select
	if(count(*) = 1, coalesce(any_value(f.path), 'a file'), format('{} files, as {}', count(*), min(f.path))) as path,
	o.what,
	(select max(s.seconds) from spent as s where s.what = o.what) as seconds,
	if(
		bool_or(o.ompio), 'use ROMIO (--mca io ' || romio_component() || ') for its hints, or OMPIO''s own parameters',
		'look for the key in the manual of this MPI'
	) as fix,
	romio_component() as romio,
	flatten(list(o.calls))[:2] as calls,
	null::double as lost
from of_file as o left join files as f using (file)
group by o.what
