-- Files of one suffix, `*.rst`; null without one in letters.
'*.' || nullif(regexp_extract(f.path, '[^/][.]([A-Za-z][A-Za-z0-9_]{0,9})$', 1), '')
