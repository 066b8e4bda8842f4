-- Files that belong together, as the shell would name them: numbers are `*`, but for those of a suffix: `out.00012.h5` is of `out.*.h5`.
regexp_replace(
	regexp_replace(regexp_extract(f.path, '[^/]*$'), '[.][A-Za-z][A-Za-z0-9_]{0,9}$', ''),
	'[0-9]+([.][0-9]+)*([eE][-+]?[0-9]+)?', '*', 'g'
) || regexp_extract(regexp_extract(f.path, '[^/]*$'), '[.][A-Za-z][A-Za-z0-9_]{0,9}$')
