/* A small library of the tests: named arrays in one file. */
#include <stddef.h>
#include <stdint.h>
typedef struct store store_t;
typedef struct variable variable_t;
store_t *store_open(const char *path, int writable);
variable_t *store_define(store_t *store, const char *name);
int64_t store_put(store_t *store, variable_t *variable, const void *data, size_t bytes);
int store_put_text(store_t *store, const char *name, const char *text);
void store_sync(store_t *store);
int store_id(store_t *store, int *id);
int store_rewind(int id);
int store_close(store_t *store);
