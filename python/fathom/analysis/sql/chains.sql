-- Processes that ran one after another, as the commands of a shell script do: what each of them waited, the run waited.

-- Chains of processes: of one rank, in one job step after another; of those that are none, on one node. Each begins when one before it
-- has ended, so that there are as many chains as ever ran at once. Every process is in one. Columns: process, chain (its first process).
create or replace macro chains() as table
with recursive placed as (
	select process, if(rank is null, node::bigint, -1 - rank) as place, start, greatest(stop, start + 1) as stop from processes
),
event as (
	select process, place, start as time, 1 as step from placed
	union all
	select process, place, stop, -1 from placed
),
counted as (
	select *, sum(step) over (partition by place order by time, step, process) as running from event
),
-- More than ever ran before: this one begins a chain.
peak as (
	select
		*,
		running > coalesce(max(running) over (partition by place order by time, step, process rows between unbounded preceding and 1 preceding), 0) as first
	from counted
),
-- The others each take the place of the one that ended first and has not been followed.
numbered as (
	select process, place, step, first, count(*) filter (not first or step < 0) over (partition by place, step order by time, process) as nth from peak
),
link as (
	select s.process, coalesce(e.process, s.process) as before
	from numbered as s left join numbered as e on not s.first and e.step < 0 and e.place = s.place and e.nth = s.nth
	where s.step > 0
),
longest as (
	select max(n) as n from (select count(*) as n from placed group by place)
),
-- Each step goes twice as far back.
jump as (
	select process, before as chain, 1 as far from link
	union all
	select a.process, b.chain, 2 * a.far
	from jump as a join jump as b on b.process = a.chain
	where a.far < (select n from longest)
)
select process, chain from jump where far >= (select n from longest);

-- Time of each chain's own I/O calls, and of what account_and_beside() has beside them, ns. Columns: chain, process (the one with the most of
-- it), rank, in_turn (how many did I/O), time.
create or replace macro account_chains() as table
-- Rounded: of sums of equal numbers the last digits are of the order of adding.
with each as (
	select process, round(sum(time)) as time from account_and_beside() group by process
)
select chain, arg_max(process, (time, -process::bigint)) as process, any_value(rank) as rank, count(*) as in_turn, sum(time) as time
from each join chains() using (process) left join processes using (process)
group by chain;
