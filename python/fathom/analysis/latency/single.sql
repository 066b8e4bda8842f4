-- Requests that are outermost calls themselves, straight from the units: a scan, of which the longest are found without a look at the others.
single as not materialized (
	select o.id, o.process, o.call, o.who, o.start, o.duration as time, f.number
	from unit as o join numbered_file as f using (file)
	where o.outermost and o.layer in ('posix', 'stdio', 'aio') and {first_set} and {servers_set}
)
