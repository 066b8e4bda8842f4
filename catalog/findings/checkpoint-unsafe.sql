-- title:  Saved state that a crash may lose
-- layer:  posix
-- limit:  files of a MiB and more that are made and written from start to end, twice and more in the run. They are renamed before their bytes were
--   synced: then the name may survive a crash, and not the bytes. Or the last one is emptied and written over: until it is complete there is none
-- says:   {path}: {n:count} of {saves:count} times {habit}
-- lost:   not known: a danger
-- sure:   0.7
-- fix:    {mend}
-- when:   (select coalesce(sum(bytes), 0) from counters where kind = 'write') >= 2097152
--   and (select count(*) from objects where flags & 64 <> 0 and flags & 3 <> 0) > 1
-- seen:   Pillai et al. 2014 (All File Systems Are Not Created Equal); rename(2), fsync(2)
select
	place as path,
	saves,
	if(emptied > 0, emptied, renamed - synced_first) as n,
	if(emptied > 0, 'emptied and written over', 'renamed before its bytes were synced') as habit,
	if(
		emptied > 0, 'write to another name, fsync, then rename: a reader sees the old state or the new one',
		'fsync the file before the rename (os.fsync of its descriptor), and its directory after it'
	) as mend,
	calls,
	null as lost
from checkpoints()
where emptied > 0 or renamed > synced_first
