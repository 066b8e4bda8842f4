#include "store.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct store {
	int file;
};
struct variable {
	char name[32];
};
static store_t *by_id[8];

store_t *store_open(const char *path, int writable)
{
	int file = open(path, writable ? O_CREAT | O_RDWR | O_TRUNC : O_RDONLY, 0644);
	store_t *store = file < 0 ? NULL : malloc(sizeof(*store));

	if (store)
		store->file = file;
	return store;
}

variable_t *store_define(store_t *store, const char *name)
{
	variable_t *variable = calloc(1, sizeof(*variable));

	(void)store;
	strncpy(variable->name, name, sizeof(variable->name) - 1);
	return variable;
}

int64_t store_put(store_t *store, variable_t *variable, const void *data, size_t bytes)
{
	if (!variable) {
		errno = EINVAL;
		return -1;
	}
	return write(store->file, data, bytes);
}

int store_put_text(store_t *store, const char *name, const char *text)
{
	variable_t *variable = store_define(store, name);
	int64_t done = store_put(store, variable, text, strlen(text)); /* its own: no event */

	free(variable);
	return done < 0 ? 17 : 0;
}

void store_sync(store_t *store)
{
	fsync(store->file);
}

int store_id(store_t *store, int *id)
{
	if (!id)
		return 22;
	*id = 3;
	by_id[3] = store;
	return 0;
}

int store_rewind(int id)
{
	return lseek(by_id[id]->file, 0, SEEK_SET) ? 5 : 0;
}

int store_close(store_t *store)
{
	int result = close(store->file);

	free(store);
	return result;
}
