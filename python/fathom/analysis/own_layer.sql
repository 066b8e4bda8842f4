-- Of counters or calls as c: I/O that a program does, and not a forwarding server for it.
{any_io} and c.layer not in ('server', 'disk')
