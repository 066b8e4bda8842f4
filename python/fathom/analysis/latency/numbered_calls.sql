-- The numbers of some calls; a rank of several processes has the first's.
with recursive {numbers}
select who, call, min(number) as number from number semi join (
	select unnest($owners::bigint[]) as who, unnest($calls::bigint[]) as call
) using (who, call)
group by who, call
