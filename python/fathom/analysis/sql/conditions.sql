-- What rows of `calls`, `counters` and `files` are: conditions and names that many statements stand on.

-- Is it a region of the program (fathom.h) or a wait for threads? Such a call holds the program's own.
create or replace macro is_region(layer) as
layer in ('user', 'threads');

-- Is it no layer of I/O: Fathom's own rows, regions, waits for threads, MPI's communication?
create or replace macro is_no_io(layer) as
layer in ('fathom', 'user', 'threads', 'mpi');

-- Is it a layer of a library of arrays: netCDF, PnetCDF, HDF5?
create or replace macro is_array_library(layer) as
is_library(layer) and layer <> 'mpiio';

-- May a call of this layer hold a call that says which bytes or arrays it moves? Regions, a user's own functions and statements of Fortran tell
-- nothing.
create or replace macro is_holder(layer) as
is_library(layer) and not is_silent(layer) or is_system(layer) or layer in ('mpi', 'fathom');

-- Is it I/O? Regions, waits for threads and Fathom's own rows are none, nor what only starts, ends or describes MPI.
create or replace macro is_io(layer, kind) as
layer not in ('fathom', 'user', 'threads') and kind <> 'comm';

-- Is it I/O that a program does, and not a forwarding server for it?
create or replace macro is_own_layer(layer, kind) as
is_io(layer, kind) and layer not in ('server', 'disk');

-- Of counters: made by the program itself, be it in one of its regions or in a wait for threads.
create or replace macro is_outermost(enclosing_layer, enclosing) as
(enclosing is null or is_region(enclosing_layer));

-- Of calls: made by the program itself, be it in one of its regions or in a wait for threads.
create or replace macro is_outermost_call(depth, parent) as
(depth = 0 or parent in (select held.id from calls as held where is_region(held.layer)));

-- Of counters: does the program itself say how much is read or written, and where? Also through statements that do not tell it.
create or replace macro is_own_access(enclosing_layer, enclosing) as
(is_outermost(enclosing_layer, enclosing) or is_silent(enclosing_layer));

-- The same of calls.
create or replace macro is_own_access_call(depth, parent) as
(depth = 0 or parent in (select held.id from calls as held where is_region(held.layer) or is_silent(held.layer)));

-- Is this function one that only starts, ends or describes MPI? What is inside it is no I/O of the program.
create or replace macro is_communication(of_layer, of_op) as
(of_layer, of_op) in (select (ops.layer, ops.op) from ops where ops.kind = 'comm');

-- Does it make text of numbers, or numbers of text?
create or replace macro is_formatted(op) as
contains(op, 'printf') or contains(op, 'scanf') or contains(op, '_formatted');

-- What such calls take for the text at most, nanoseconds: twice what text of doubles took on a machine of 2023.
create or replace macro most_formatting(calls, bytes) as
1000 * calls + 20 * bytes;

-- Does this function of an I/O library open a file? Others open what is in it.
create or replace macro is_file_open(op) as
regexp_matches(op, '^(MPI_File_open|H5F(create|open)|nc(mpi)?_*(create|open)(_par)?)$');

-- Of files: neither what processes tell each other by, which waits, nor what the kernel makes up. Where files are not known, all are.
create or replace macro is_file(kind, path, file_system) as
(
	coalesce(kind, '') not in ('socket', 'fifo') and coalesce(path, '') not like 'anon_inode:%'
	and coalesce(file_system, '') not in ('proc', 'sysfs')
);

-- Of calls or counters: it reaches the storage, as no other such call holds it.
create or replace macro reaches_storage(layer, enclosing_layer) as
(is_system(layer) or is_store(layer)) and coalesce(enclosing_layer, '') not in ('posix', 'stdio', 'aio', 'dfs');

-- The same of the program's: what MPI does at its start and end is none.
create or replace macro is_storage_access(layer, enclosing_layer, enclosing) as
(reaches_storage(layer, enclosing_layer) and (enclosing is null or not is_communication(enclosing_layer, enclosing)));

-- Is it what another row asked for: completions of what was posted, and the sides of copies that their rows are not on?
create or replace macro is_beside(layer, op) as
(layer in ('aio', 'posix') and op in ('done_read', 'done_write', 'copy_source', 'copy_target'));

-- Which way a call moves data, `read` or `write`; of a post what it asks for. Null: it moves none.
create or replace macro direction(kind, op) as
case
	when kind in ('read', 'write') then kind
	when kind <> 'post' then null
	when regexp_matches(op, 'put|write') then 'write'
	when regexp_matches(op, 'get|read') then 'read'
end;

-- Which ways the bytes of a call may have gone, as a list: a wait that does not say which completes posts of both.
create or replace macro directions(kind, op) as
case
	when direction(if(kind = 'wait', 'post', kind), op) is not null then [direction(if(kind = 'wait', 'post', kind), op)]
	when kind = 'wait' then ['read', 'write']
	else []
end;

-- Does a part of a name look drawn at random, so that it tells files apart and says nothing of them? `before`: the part before it. Hexadecimal
-- digits and letters by turns (`3fa9c1e`); six or ten letters of mkstemp and mktemp, of both cases, in which a digit stands before a letter or
-- the case changes again and again (`Ab3xYz`); behind `tmp` also of one case. Words with a number behind them do not: `face0001`.
-- run/anonymise/names.py has the same.
create or replace macro is_random(part, before) as
case
	when length(part) < 6 or not regexp_matches(part, '[0-9]|[a-z][A-Z]') then false
	when regexp_full_match(part, '[0-9a-f]+|[0-9A-F]+')
		then regexp_matches(part, '[A-Fa-f][0-9]+[A-Fa-f]|[0-9][A-Fa-f]+[0-9]') or length(part) >= 8 and regexp_full_match(part, '[0-9]+[A-Fa-f]{2,}')
	when not regexp_full_match(part, '([A-Za-z0-9]{6}|[A-Za-z0-9]{8}|[A-Za-z0-9]{10})')
		or not regexp_matches(part, '[0-9][A-Za-z]|[a-z][A-Z].*[a-z][A-Z]')
		then false
	when before in ('tmp', 'tmp.') then true
	else length(part) <> 8 and regexp_matches(part, '[a-z]') and regexp_matches(part, '[A-Z]') and not regexp_matches(part, '[a-z]{3}|[A-Z]{3}')
end;

-- Parts of a name: `tmp` or `tmp.`, letters and digits, what is between them; a UUID is `0`.
create or replace macro name_parts(name) as
regexp_extract_all(
	regexp_replace(name, '[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}', '0', 'g'), 'tmp[.]?|[A-Za-z0-9]+|[^A-Za-z0-9]+'
);

-- A name with `*` for numbers and for what is_random(): names that are alike are the same then.
create or replace macro starred(name) as
regexp_replace(
	if(
		regexp_matches(name, '[A-Za-z0-9]{6}'),
		list_transform(
			[name_parts(name)],
			lambda parts: array_to_string(
				list_transform(list_zip(parts, list_prepend('', parts), true), lambda pair: if(is_random(pair[1], pair[2]), '0', pair[1])), ''
			)
		)[1],
		name
	),
	'[0-9]+([.][0-9]+)*([eE][-+]?[0-9]+)?', '*', 'g'
);

-- The suffix of a file without its dot, empty without one in letters.
create or replace macro suffix_letters(path) as
list_transform(
	[regexp_extract(path, '[^/][.]([A-Za-z][A-Za-z0-9_]{0,9})$', 1)], lambda suffix: if(is_random(suffix, ''), '', suffix)
)[1];

-- Files of one suffix, `*.rst`; null without one in letters.
create or replace macro file_suffix(path) as
'*.' || nullif(suffix_letters(path), '');

-- Files that belong together, as the shell would name them: numbers and random letters are `*`, but for those of a suffix: `out.00012.h5` is
-- of `out.*.h5`.
create or replace macro file_group(path) as
list_transform(
	[suffix_letters(path)],
	lambda suffix: starred(regexp_extract(if(suffix = '', path, path[:-length(suffix) - 2]), '[^/]*$')) || coalesce('.' || nullif(suffix, ''), '')
)[1];

-- The least and the end of a bin of a histogram of sizes, in bytes: powers of 4, and the last without an end.
create or replace macro size_from(bin) as
if(bin = 0, 0, pow(4, bin - 1))::bigint;

-- Where the next bin begins, in bytes; null: this is the last.
create or replace macro size_below(bin) as
if(bin = 16, null, pow(4, bin))::bigint;

-- Parts of the run, `bins` in all, of equal length: their `width` in ns.
create or replace macro part_width(bins) as table
select greatest(1, ceil(duration / bins))::bigint as width from runs;

-- Does the program read what it does from a script, or is it a machine of bytes? Its own sources say nothing of the user's language.
create or replace macro is_interpreter(exe) as
coalesce(
	regexp_matches(
		exe, '(^|/)(java|node|perl|ruby|R|Rscript|octave|julia|php|lua|tclsh|MATLAB|(ba|da|z|k)?sh|make|env)[-.0-9a-z]*$'
	),
	false
);

-- The language of the program, or of part of it: `python`, `java`, `fortran` or `cpp` (by its call sites' sources, functions and libraries), `c`;
-- `other`: that of another interpreter.
create or replace macro language() as
case
	when (select coalesce(bool_or(regexp_matches(exe, 'python[0-9.]*$')), false) from processes) then 'python'
	when (select coalesce(bool_and(is_interpreter(exe)), false) from processes)
		then if((select coalesce(bool_or(regexp_matches(exe, '(^|/)java$')), false) from processes), 'java', 'other')
	when exists (from sites where regexp_matches(source, '\.(f|for|ftn|f[0-9][0-9])$', 'i')) then 'fortran'
	when exists (
		from sites
		where regexp_matches(source, '\.(cc|cpp|cxx|c\+\+|C)$') or function like '%::%'
			or users_module is not null and regexp_matches(module, '(^|/)lib(std)?c\+\+[^/]*$')
	) then 'cpp'
	else 'c'
end;

-- What a process ran, for people: `sort`, or an interpreter and its script, `python3.11 prepare.py`.
create or replace macro program_name(exe, command) as
coalesce(nullif(regexp_extract(exe, '[^/]*$'), ''), command[1], 'unknown')
|| if(
	regexp_matches(exe, '/(python|perl|ruby|Rscript|julia|node|bash|sh|java)[0-9.]*$') and command[2] is not null and not starts_with(command[2], '-'),
	' ' || regexp_extract(command[2], '[^/]*$'), ''
);

-- Time of the run (ns) in which none of its processes ran.
create or replace macro unseen_time() as
(select any_value(duration) from runs) - coalesce(
	(
		select sum(greatest(0, stop - greatest(start, coalesce(before, start))))
		from (select start, stop, max(stop) over (order by start rows between unbounded preceding and 1 preceding) as before from processes)
	),
	0
);

-- One row for each process, in the order of the pictures: by rank, those without one last.
create or replace macro lanes() as table
select (row_number() over (order by rank nulls last, process) - 1)::integer as lane, process, rank, node, start, pid, exe
from processes;

-- The bin of a size in bytes, as histograms of counters have it: the last is of 1 GiB and more, the first also of sizes below zero.
create or replace macro size_bin(size) as
if(size <= 0, 0, least(16, floor(log2(size) / 2)::int + 1));

-- Of a group: the value that most rows have; of several such the least.
create or replace macro commonest(value) as
map_keys(histogram(value))[list_position(map_values(histogram(value)), list_max(map_values(histogram(value))))];
