-- The sizes that reads and writes of each layer have most often.
select c.layer, {direction} as operation, value as size, sum(c.calls) as calls, sum(bound) as bound
from tops as c left join files as f using (file)
where what = 'size' and {direction} is not null and {of_files}
	and (enclosing is null or (enclosing_layer, enclosing) not in (select (layer, op) from ops where kind = 'comm'))
group by c.layer, operation, value
order by c.layer, operation, calls desc, size
