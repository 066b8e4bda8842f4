-- Neither what processes tell each other by, which waits, nor what the kernel makes up. (Where files are not known it cannot be told.)
coalesce(f.kind, '') not in ('socket', 'fifo') and coalesce(f.path, '') not like 'anon_inode:%'
	and coalesce(f.file_system, '') not in ('proc', 'sysfs')
