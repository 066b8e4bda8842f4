-- Files, and what they have in common: those whose paths differ in numbers only are of one `place` (/out/rank.*.h5), their
-- directories one `directory`; a file that is alone keeps its path. `block`: the bytes that one lock or one server's piece covers, a stripe where it is known, else a page of
-- 4,096 bytes, the least that a kernel reads or writes. Files that hold no data (sockets, pipes, devices, /proc) are left out.
-- Columns: file, path, place, directory, system (file system), block (bytes), striped (is `block` a stripe).
with stripe as (
	select file, max(try_cast(value as bigint)) as bytes
	from hints_in_force
	where key in ('striping_unit', 'stripe_size', 'lustre_stripe_size') and source = 'in force'
	group by file
	having max(try_cast(value as bigint)) >= 4096
),
named as (
	select
		f.*, regexp_extract(path, '^(.*/)?[^/]*$', 1) as folder, {file_group} as name, regexp_replace(folder, '[0-9]+', '*', 'g') as folders
	from files as f
),
-- Stars only where something differs.
placed as (
	select
		*, count(*) over (partition by folders, name) as alike,
		if(min(folder) over (partition by folders) = max(folder) over (partition by folders), folder, folders) as place
	from named
)
select
	f.file,
	f.path,
	if(alike = 1, path, f.place || name) as place,
	-- An import may know a name only, not where it lay.
	case f.place when '' then 'an unknown directory' when '/' then '/' else rtrim(f.place, '/') end as directory,
	f.key as system,
	coalesce(stripe.bytes, 4096) as block,
	stripe.bytes is not null as striped
from placed as f left join stripe using (file)
where (f.kind = 'regular' or f.kind = 'unknown' and f.path not like '/dev/%') and {of_files}
