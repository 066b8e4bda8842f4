/* Every function of store.h, also failing. use_store FILE */
#include <stdio.h>

#include "store.h"

int main(int argc, char **argv)
{
	store_t *store = store_open(argv[argc - 1], 1);
	variable_t *density = store_define(store, "density");
	int id;

	for (int i = 0; i < 3; i++)
		if (store_put(store, density, "0123456789", 10) != 10)
			return 1;
	if (store_put(store, NULL, "", 0) != -1 || store_put_text(store, "title", "hello"))
		return 2;
	store_sync(store);
	if (store_id(store, NULL) != 22 || store_id(store, &id) || store_rewind(id) ||
	    store_close(store) || store_open("/nowhere/x", 0))
		return 3;
	puts("done");
	return 0;
}
