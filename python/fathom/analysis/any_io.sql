-- Of counters or calls as c: I/O. Regions, waits for threads and Fathom's own rows are none, nor what only starts, ends or describes MPI.
c.layer not in ('fathom', 'user', 'threads') and c.kind <> 'comm'
