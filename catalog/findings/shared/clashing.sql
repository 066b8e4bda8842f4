-- Accesses to the bytes of `clashes`, to be compared one by one: of each stretch the first 8 reads and 8 writes of a process, 64 in all.
-- Columns: those of `to_bytes`.
with near as (
	select a.*, s.begins as stretch
	from {suspects} as a asof join {clashes} as s on a.file = s.file and a.ends > s.begins
	where s.ends > a.begins
),
nth as (
	select *, row_number() over (partition by file, stretch, process, wrote order by start, id) as nth from near
)
select * exclude (stretch, nth) from nth where nth <= 8 qualify row_number() over (partition by file, stretch order by nth, start, id) <= 64
