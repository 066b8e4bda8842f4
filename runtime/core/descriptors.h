/* Descriptors and their objects. */
#ifndef FATHOM_DESCRIPTORS_H
#define FATHOM_DESCRIPTORS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct description;
struct descriptor {
	_Atomic(struct description *) description;
	_Atomic uint32_t object; /* of the description: one load less on the hot path */
	_Atomic bool cloexec;
};
enum { FDS_PER_PAGE = 1024, FD_PAGES = 1024 };

/* In memory that a fork wipes. */
struct descriptor_table {
	_Atomic(struct descriptor *) page[FD_PAGES];
	_Atomic uint64_t
		free; /* descriptions: no lock, which a thread that writes its stream out may hold */
};
extern _Atomic(struct descriptor_table *) descriptors;

#endif
