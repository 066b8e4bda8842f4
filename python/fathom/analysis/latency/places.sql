-- Where requests stand: who made them, in which call, which sub-call of it they are.
with recursive {picked},
{numbered}
select distinct id, who, call, subcall from mine where id in (select unnest($ids::ubigint[]))
