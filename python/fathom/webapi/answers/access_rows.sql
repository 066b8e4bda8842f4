-- The selected accesses of file {file} as x, kind, bytes [a, z), and the first and last bin of {step} bytes from {low} on that each touches.
access as (
	select {x} as x, kind, file_offset as a, file_offset + bytes as z
	from (select * from calls as c where file = {file} and {selected}) as c join lane using (process)
	where {which} and file_offset is not null and bytes > 0
),
placed as (
	select x, kind, a, z, (a - {low}) // {step} as first, (z - 1 - {low}) // {step} as last from access
)
