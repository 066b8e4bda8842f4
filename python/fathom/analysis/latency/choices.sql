-- What own calls are told by, the most frequent first.
with recursive {units}
select name from (select {what} as name from unit as o) where name is not null group by name order by count(*) desc, name
