-- All rows of the chosen outermost calls. By their ordinals first: that leaves few, and one key is met in half the time of two.
with {chosen}
from (from calls semi join (select distinct call from chosen) using (call)) semi join chosen using (process, call)
