-- Time at each server: of the calls on files that stand for one. A part of breakdown.sql.
of_server as (
	from of_files
)
