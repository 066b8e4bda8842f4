-- Calls on files that no other such call holds: what reaches the storage. MPI's own, at its start and end, are none of the program's.
{at_storage}
	and (enclosing is null or (enclosing_layer, enclosing) not in (select (layer, op) from ops where kind = 'comm'))
