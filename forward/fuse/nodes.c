/* Files that the kernel knows, by the server's handle. Each keeps the name by which it was last found. */
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mount.h"

struct node {
	struct fathom_fwd_handle handle; /* first: nodes are compared by it */
	struct node *parent;             /* of the root and before it is found: NULL */
	char *name;
	_Atomic bool set_id; /* when it was last seen it had a bit that a write takes away */
	uint64_t lookups;    /* by the kernel */
	uint32_t children;
};

static struct {
	pthread_mutex_t lock;
	void *tree; /* of tsearch */
	struct node root;
} nodes = {.lock = PTHREAD_MUTEX_INITIALIZER, .root = {.lookups = 1}};

struct node *node_of(fuse_ino_t number)
{
	return number == FUSE_ROOT_ID ? &nodes.root : (struct node *)(uintptr_t)number;
}

fuse_ino_t node_number(const struct node *node)
{
	return node == &nodes.root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)node;
}

const struct fathom_fwd_handle *node_handle(const struct node *node)
{
	return &node->handle;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct fathom_fwd_handle));
}

/* Frees what neither the kernel nor a child needs any more, up to the root. */
static void drop(struct node *node)
{
	while (node && !node->lookups && !node->children) {
		struct node *parent = node->parent;

		tdelete(node, &nodes.tree, compare);
		free(node->name);
		free(node);
		if (parent)
			parent->children--;
		node = parent;
	}
}

static void place(struct node *node, struct node *parent, char *name)
{
	struct node *before = node->parent;

	free(node->name);
	node->name = name;
	node->parent = parent;
	parent->children++;
	if (before) {
		before->children--;
		drop(before);
	}
}

static struct node *known(const struct fathom_fwd_handle *handle)
{
	struct node **slot = tfind(handle, &nodes.tree, compare), *node;

	if (slot)
		return *slot;
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	node->handle = *handle;
	if (tsearch(node, &nodes.tree, compare))
		return node;
	free(node);
	return NULL;
}

struct node *node_found(struct node *parent, const char *name,
			const struct fathom_fwd_handle *handle)
{
	char *name_copy = strdup(name);
	struct node *node;

	pthread_mutex_lock(&nodes.lock);
	node = name_copy ? known(handle) : NULL;
	if (node) {
		node->lookups++;
		place(node, parent, name_copy);
	}
	pthread_mutex_unlock(&nodes.lock);
	if (!node)
		free(name_copy);
	return node;
}

bool takes_set_id(mode_t mode)
{
	return S_ISREG(mode) && (mode & S_ISUID || (mode & S_ISGID && mode & S_IXGRP));
}

void node_seen(struct node *node, mode_t mode)
{
	atomic_store(&node->set_id, takes_set_id(mode));
}

bool node_set_id(const struct node *node)
{
	return atomic_load(&node->set_id);
}

void node_forget(struct node *node, uint64_t times)
{
	if (node == &nodes.root)
		return;
	pthread_mutex_lock(&nodes.lock);
	node->lookups -= times < node->lookups ? times : node->lookups;
	drop(node);
	pthread_mutex_unlock(&nodes.lock);
}

/* Written from its end. */
void node_path(const struct node *node, char path[PATH_MAX])
{
	size_t at = PATH_MAX - 1;

	path[at] = 0;
	pthread_mutex_lock(&nodes.lock);
	for (; node && node->name; node = node->parent) {
		size_t length = strlen(node->name);

		if (length + 1 > at)
			break;
		if (path[at])
			path[--at] = '/';
		at -= length;
		memcpy(path + at, node->name, length);
	}
	pthread_mutex_unlock(&nodes.lock);
	memmove(path, path + at, PATH_MAX - at);
}
