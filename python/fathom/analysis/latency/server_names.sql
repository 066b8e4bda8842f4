-- The run's servers by number.
with {servers}
select number, server from server order by number
