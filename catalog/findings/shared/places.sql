-- Files, and what they have in common: those whose paths differ in numbers only are of one `place` (/out/rank.*.h5), in one
-- `directory`. `block`: the bytes that one lock or one server's piece covers, a stripe where it is known, else a page of
-- 4,096 bytes, the least that a kernel reads or writes. Files that hold no data (sockets, pipes, devices, /proc) are left out.
-- Columns: file, path, place, directory, system (file system), block (bytes), striped (is `block` a stripe).
with stripe as (
	select file, max(try_cast(value as bigint)) as bytes
	from hints_in_force
	where key in ('striping_unit', 'stripe_size', 'lustre_stripe_size') and source = 'in force'
	group by file
	having max(try_cast(value as bigint)) >= 4096
)
select
	f.file,
	f.path,
	regexp_replace(f.path, '[0-9]+', '*', 'g') as place,
	regexp_replace(regexp_extract(f.path, '^(.*)/[^/]*$', 1), '[0-9]+', '*', 'g') as directory,
	f.key as system,
	coalesce(stripe.bytes, 4096) as block,
	stripe.bytes is not null as striped
from files as f left join stripe using (file)
where f.kind in ('regular', 'unknown') and {of_files} and f.path not like '/dev/%'
