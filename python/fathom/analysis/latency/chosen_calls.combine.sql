-- Rows of all parts of the run, as one answer.
from partials
