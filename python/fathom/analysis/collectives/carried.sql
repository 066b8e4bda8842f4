-- Bytes that each process's system calls moved for each process's part of a collective call: the links `carries`.
select p.collective, s.process as aggregator, p.process, any_value(p.rank) as rank, sum(l.bytes) as bytes, min(l.confidence) as confidence
from links as l
join parts as p on p.id = l.to_call
join streams as s on s.stream = l.from_call >> 40
where l.kind = 'carries'
group by p.collective, s.process, p.process
