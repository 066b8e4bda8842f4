-- Of the requests that took so long: the first of each process and server.
with recursive {units},
{servers},
{parts},
{inside},
{requests}
select who, number, time, min(id) as id, arg_min(process, id) as process, arg_min(call, id) as call
from request
where time in ({times})
group by who, number, time
