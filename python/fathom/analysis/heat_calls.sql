-- ns that ranks, in lines of neighbours, spent in the program's own I/O calls, in each of $bins equal parts of the run. A call that reaches over
-- several parts is cut where they meet. Calls from and to the same parts are summed before they are cut.
with recursive {own_calls},
{heat_lines},
reach as (
	select line, owner, maker, start // width as head, (start + duration) // width as tail, count(*) as calls,
		sum(least(duration, (start // width + 1) * width - start)) as in_head,
		sum(start + duration - (start + duration) // width * width) as in_tail
	from own join who using (process), part
	group by all
),
cell as (
	select line, owner, maker, bin, case bin when head then in_head when tail then in_tail else calls * width end as time
	from (select *, unnest(range(head, tail + 1)) as bin from reach), part
),
{heat_sums}
