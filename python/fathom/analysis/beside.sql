-- Of calls or counters as c: what another row asked for, completions of what was posted and the sides of copies that their rows are not on.
(c.layer in ('aio', 'posix') and c.op in ('done_read', 'done_write', 'copy_source', 'copy_target'))
