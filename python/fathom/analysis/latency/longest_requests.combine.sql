-- Rows of all parts of the run, in order: parts hold whole ranks.
from partials order by time desc, who, call, start, id {top}
