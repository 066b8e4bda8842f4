-- Files that belong together, as the shell would name them: numbers are `*`, so `out.00012.rst` is of `out.*.rst`.
regexp_replace(regexp_extract(f.path, '[^/]*$'), '[0-9]+([.][0-9]+)*([eE][-+]?[0-9]+)?', '*', 'g')
