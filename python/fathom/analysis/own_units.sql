-- Time of the program's own I/O calls by rank, or by process where there are no ranks: amounts of dominance.sql.
select if($ranks, rank, process) as unit, time as amount from ({own_processes}) where not $ranks or rank is not null
