-- Is any own call left? One suffices.
with recursive {units}
select count(*) > 0 as any_left from (select 1 from unit limit 1)
