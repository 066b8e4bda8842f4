-- title:  Asynchronous requests of a few bytes each
-- layer:  aio
-- limit:  16 requests or more below a page, each posted alone and each beginning where the one before ended
-- says:   {path}: {n:count} asynchronous {what}s of {size:size} on average, one after another, each posted alone; posting and awaiting them took
--   {seconds:seconds}
-- lost:   the slowest thread's calls to post and await, less the share of a page that each moved
-- sure:   0.7
-- fix:    gather the bytes and post a MiB at once. Apart in memory: one vectored request (io_uring_prep_{what}v,
--   io_prep_p{what}v). Apart in the file: one call for many (lio_listio, io_submit, io_uring_submit)
-- causes: requests, contention, unexplained, transfer
-- seen:   Axboe 2019, Efficient IO with io_uring; aio(7) on threads of libc
with post as (
	select
		c.id, c.process, c.stream, c.file, if(c.op like '%write', 'write', 'read') as what, c.file_offset, c.size, c.start,
		if(c.op like 'aio%', c.id, c.parent) as call
	from calls as c
	where c.layer = 'aio' and c.op in ('aio_read', 'aio_write', 'post_read', 'post_write') and c.error = 0 and c.size > 0 and c.file is not null
),
own as (
	select id, process, stream, duration from calls where layer = 'aio' and is_outermost_call(depth, parent)
),
alone as (
	select any_value(p) as p, any_value(o.duration) as duration
	from post as p join own as o on o.id = p.call
	group by p.call
	having count(*) = 1
),
each as (
	select
		p.*, duration, lag(p.file_offset + p.size) over (partition by p.stream, p.file, p.what order by p.start, p.id) as ended
	from alone
),
-- What a thread spent in asynchronous I/O, and how much of what it posted alone was small.
thread as (
	select
		file, what, stream, count(*) filter (small) as n, sum(size) filter (small) as bytes,
		max_by(id, duration, 8) filter (small) as worst
	from (select *, size < 4096 and file_offset = ended as small from each)
	group by file, what, stream
	having n >= 16
),
spent as (
	select stream, sum(duration) / 1e9 as seconds from own group by stream
),
posted as (
	select stream, count(*) as posts from post group by stream
),
cost as (
	select t.*, s.seconds * t.n / p.posts as seconds from thread as t join spent as s using (stream) join posted as p using (stream)
)
select
	p.place as path,
	what,
	sum(n)::hugeint as n,
	sum(bytes) / sum(n) as size,
	max(seconds) as seconds,
	flatten(max_by(worst, seconds, 1)) as calls,
	max(seconds * (1 - bytes / n / 4096)) as lost
from cost join places() as p using (file)
group by p.place, what
