-- Which way a call c moves data; of a post what it asks for. Null: it moves none.
case
	when c.kind in ('read', 'write') then c.kind
	when c.kind <> 'post' then null
	when regexp_matches(c.op, 'put|write') then 'write'
	when regexp_matches(c.op, 'get|read') then 'read'
end
