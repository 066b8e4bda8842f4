-- Calls on files that no other such call holds: they reached what stands for a server. A part of servers_bins.sql, a condition.
layer in ('posix', 'stdio', 'aio', 'dfs', 'daos') and {unheld}
