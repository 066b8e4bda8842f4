-- Cells of a level as table tiles has them: of tile (x, y).
select {z}::utinyint as z, layer, (row // 64)::uinteger as y, (bin // 256)::uinteger as x, (row % 64 * 256 + bin % 256)::usmallint as cell,
	op, kind, calls::uinteger as calls, time, bytes, longest, call::ubigint as call
from level_{z}
