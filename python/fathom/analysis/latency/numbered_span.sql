-- From where to where numbers go.
with recursive {numbers}
select min(number) as least, max(number) as most from number where who in (select unnest($owners::bigint[]))
