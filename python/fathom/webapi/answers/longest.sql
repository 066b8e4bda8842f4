-- The {limit} I/O calls that took most, of those for which a condition holds.
select * from calls as c
where {which} and {least} and {any_io}
order by {size} desc, id
limit {limit}
