-- Of the requests that took so long: the first of each process and server.
with recursive {units},
{requests},
{single}
select who, number, time, min(id) as id, arg_min(process, id) as process, arg_min(call, id) as call
from (
	select who, number, time, id, process, call from single where time in ({times})
	union all
	select who, number, time, id, process, call from request where not single and time in ({times})
)
group by who, number, time
