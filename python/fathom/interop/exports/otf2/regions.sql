-- A region of each op that selected calls are.
select row_number() over (order by layer, op, kind) - 1 as region, layer, op, kind
from (select distinct layer, op, kind from calls where {where})
