-- Of counters as c with their files as f: the program's own I/O calls. No time counts twice in them.
{outermost} and {own_layer} and {of_files}
