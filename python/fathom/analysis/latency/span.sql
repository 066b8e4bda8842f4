-- From where to where a number of own calls goes.
with recursive {units}
select min({column}) as least, max({column}) as most from unit as o
