/* dlopen as if the caller's module had called it: ld.so looks at who calls, and sees us. */
#ifndef FATHOM_SEARCH_H
#define FATHOM_SEARCH_H

void *search_dlopen(const char *file, int flags, const void *caller);
/* LD_LIBRARY_PATH as ld.so read it at the start. */
void search_begin(char *const *environment);

#endif
