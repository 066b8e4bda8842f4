-- The {limit} servers with the most time of the whole run, so that they stay the same whatever is selected.
with {latency/servers}
select server from asked group by server order by sum(time) desc, server limit {limit}
