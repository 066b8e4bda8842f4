-- Of each process the first and the last call whose number lies in a range.
with recursive {numbers}
select process, min(call) as first, max(call) as last from number where number between $least and $most group by process
