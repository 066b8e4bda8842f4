"""`fathom tune`: settings of I/O libraries, the search for the best ones, models, the store of patterns, sweeps."""
