-- Of counters: made by the program itself, be it in one of its regions or in a wait for threads.
(enclosing is null or enclosing_layer in ('user', 'threads'))
