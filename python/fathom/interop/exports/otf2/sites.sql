-- Places in programs that selected calls were made from.
select site, coalesce(source, module || ' + 0x' || to_hex(address)) as file, coalesce(line, 0) as line
from sites where site in (select site from calls where {where}) order by site
