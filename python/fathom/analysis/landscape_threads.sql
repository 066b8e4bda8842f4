-- Did a process make I/O calls in several threads?
with {landscape_io}
select count(*) as n from io where thread_class = 'other' and time > 0
