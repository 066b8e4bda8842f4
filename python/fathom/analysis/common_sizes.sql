-- The sizes that reads and writes of each layer have most often.
select t.layer, t.kind as operation, value as size, sum(t.calls) as calls, sum(bound) as bound
from tops as t left join files as f using (file)
where what = 'size' and t.kind in ('read', 'write') and {of_files}
	and (enclosing is null or (enclosing_layer, enclosing) not in (select (layer, op) from ops where kind = 'comm'))
group by t.layer, t.kind, value
order by t.layer, operation, calls desc, size
