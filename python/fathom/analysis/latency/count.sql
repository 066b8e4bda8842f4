-- How many own calls are left.
with recursive {units}
select count(*) as n from unit
