"""Hints for `fathom generate` from what is there already: the accesses of a run, the header of a file."""
