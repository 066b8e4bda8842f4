-- Is any own call left? The first that is found says so.
with recursive {units}
select count(*) > 0 as found from (select 1 from unit limit 1)
