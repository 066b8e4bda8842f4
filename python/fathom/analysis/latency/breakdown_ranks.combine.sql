-- A rank's processes may be several; parts hold whole ranks.
from partials order by who, layer
