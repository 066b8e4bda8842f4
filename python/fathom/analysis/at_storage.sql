-- Calls that reach the storage: no such call holds them. A part of other statements, a condition.
layer in ('posix', 'stdio', 'aio', 'dfs', 'daos') and coalesce(enclosing_layer, '') not in ('posix', 'stdio', 'aio', 'dfs')
