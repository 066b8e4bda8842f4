-- The site's: what accesses cost in other runs on the same mounts.

-- What the file that FATHOM_SITE names says (`fathom landscape --site`); without one, no rows. Columns: file_system, mount, kind (read,
-- write), runs, request, per_byte (seconds; medians over the runs), request_best, per_byte_best (their best tenth).
create or replace macro site_references() as table
select
	null::varchar as file_system, null::varchar as mount, null::varchar as kind, null::bigint as runs, null::double as request,
	null::double as request_best, null::double as per_byte, null::double as per_byte_best
limit 0;
