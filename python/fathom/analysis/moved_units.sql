-- Bytes that each rank moved, or each process where there are no ranks: amounts of dominance.sql.
select if($ranks, rank, process) as unit, bytes_read + bytes_written as amount from ({moved}) where not $ranks or rank is not null
