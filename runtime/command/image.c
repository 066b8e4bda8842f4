/* A static program loads no library: it records if Fathom was linked into it, and else only what it starts is seen. */
#include "command.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image {
	const char *at;
	size_t size;
};

static bool map_file(const char *path, struct image *image)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *at = MAP_FAILED;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && st.st_size > 0)
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return false;
	*image = (struct image){at, (size_t)st.st_size};
	return true;
}

static const void *part(const struct image *image, uint64_t offset, uint64_t size)
{
	return offset <= image->size && size <= image->size - offset ? image->at + offset : NULL;
}

/* The note of runtime/linked/start.c. */
static bool is_ours(const char *note, size_t size)
{
	static const uint32_t head[3] = {7, 4, 2};

	for (size_t at = 0; at + 20 <= size; at += 4)
		if (!memcmp(note + at, head, sizeof(head)) && !memcmp(note + at + 12, "Fathom", 7))
			return true;
	return false;
}

/* A 64-bit program of this machine's byte order that no loader is asked for. */
static bool is_bare(const struct image *image)
{
	const ElfW(Ehdr) *header = part(image, 0, sizeof(*header));
	bool is_static = true;

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(ElfW(Phdr)))
		return false;
	for (unsigned i = 0; i < header->e_phnum; i++) {
		const ElfW(Phdr) *p = part(image, header->e_phoff + i * sizeof(*p), sizeof(*p));
		const char *note = p ? part(image, p->p_offset, p->p_filesz) : NULL;

		if (!note)
			continue;
		if (p->p_type == PT_INTERP || (p->p_type == PT_NOTE && is_ours(note, p->p_filesz)))
			is_static = false;
	}
	return is_static;
}

void image_say(const char *path)
{
	struct image image;

	if (!map_file(path, &image))
		return;
	if (is_bare(&image))
		fprintf(stderr,
			"fathom: run: %s is linked statically: its own calls are not recorded; "
			"link it with `fathom cc`, or record it with --strace, slower\n",
			path);
	munmap((void *)image.at, image.size);
}
