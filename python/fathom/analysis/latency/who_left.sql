-- Whose calls are left.
with recursive {units}
select distinct who from unit
