-- Selected calls that moved data on nothing that was told.
select count(*) as calls from calls
where kind in ('read', 'write', 'post') and object is null and size is not null and layer <> 'fathom' and {where}
