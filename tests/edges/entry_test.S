#include "edges/entry.S"

fathom_entry entry_many_0, 1, "many_"
