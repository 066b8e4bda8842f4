-- The {limit} I/O calls that took most, of those for which a condition holds: found by one look at each, without sorting all.
select * from calls
where id in (select unnest(arg_max(id, {size}, {limit})) from calls as c where {which} and {any_io})
