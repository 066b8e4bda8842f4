-- `part`: what each server did for each call that it served (latency_served()). `sent`: of each call served the slowest server's time, since they work
-- side by side (equation 2.1). Where no server was traced, no_parts.sql stands for it. A part.
part as materialized (from latency_served()),
sent as materialized (
	select client, sum(requests) as requests, max(time) as time, max(disk) as disk, max(after) as after, sum(disk_calls) as disk_calls
	from part group by client
)
