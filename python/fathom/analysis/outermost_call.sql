-- Of calls: made by the program itself, be it in one of its regions or in a wait for threads.
(depth = 0 or parent in (select id from calls where layer in ('user', 'threads')))
