-- No process whose threads' union is needed.
select null::uinteger as process, null::hugeint as busy limit 0
