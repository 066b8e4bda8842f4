-- The file of the longest selected call on one.
select file from calls as c where file is not null and {selected} and {any_io} order by duration desc, id limit 1
