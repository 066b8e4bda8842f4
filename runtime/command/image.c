/* Programs that Fathom cannot be brought into, or that make system calls past it: said before they start. */
#include "command.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

struct image {
	const char *at;
	size_t size;
};

/* What its program headers say. */
struct facts {
	const char *loader; /* "": it asks for none */
	bool ours;          /* Fathom was linked into it */
	bool go;
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

/* Is a note of this name and type there? `name` with its zero, and zeros up to a word. */
static bool has_note(const char *notes, size_t size, const char *name, uint32_t length,
		     uint32_t type)
{
	for (size_t at = 0; at + 12 + length <= size; at += 4) {
		uint32_t head[3];

		memcpy(head, notes + at, sizeof(head));
		if (head[0] == length && head[2] == type && !memcmp(notes + at + 12, name, length))
			return true;
	}
	return false;
}

static void take_header(const ElfW(Phdr) * p, const char *content, struct facts *facts)
{
	if (p->p_type == PT_INTERP && p->p_filesz)
		facts->loader = format_text("%.*s", (int)p->p_filesz, content);
	if (p->p_type != PT_NOTE)
		return;
	facts->ours |= has_note(content, p->p_filesz, "Fathom", 7, 2); /* linked/start.c */
	facts->go |= has_note(content, p->p_filesz, "Go\0", 4, 4);     /* its build id */
}

/* The loaders of the GNU C library for machines of 64 bits; musl's and Android's have other names. */
static bool is_gnu(const char *loader)
{
	const char *slash = strrchr(loader, '/');

	return strncmp(slash ? slash + 1 : loader, "ld-linux-", 9) == 0;
}

/* What is said of a program of 64 bits and this machine's byte order; NULL: it is recorded. */
static const char *why_unrecorded(const struct image *image, const ElfW(Ehdr) * header)
{
	struct facts facts = {.loader = ""};

	for (unsigned i = 0; i < header->e_phnum; i++) {
		const ElfW(Phdr) *p = part(image, header->e_phoff + i * sizeof(*p), sizeof(*p));
		const char *content = p ? part(image, p->p_offset, p->p_filesz) : NULL;

		if (content)
			take_header(p, content, &facts);
	}
	if (facts.ours)
		return NULL;
	if (!*facts.loader)
		return "is linked statically: its own calls are not recorded; link it with "
		       "`fathom cc`, or record it with --strace, slower";
	if (!is_gnu(facts.loader))
		return format_text("needs %s, and libfathom.so the GNU C library: its own calls "
				   "are not recorded; build it for that, or record it with "
				   "--strace, slower",
				   facts.loader);
	if (facts.go)
		return "is a Go program: what Go reads and writes by its own system calls is not "
		       "recorded, only calls of C libraries are; record it with --strace, slower";
	return NULL;
}

static const char *why(const struct image *image)
{
	const ElfW(Ehdr) *header = part(image, 0, sizeof(*header));

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG))
		return NULL;
	if (header->e_ident[EI_CLASS] != ELFCLASS64)
		return "is a 32-bit program, and libfathom.so is 64-bit: its own calls are not "
		       "recorded; build it for that, or record it with --strace, slower";
	return header->e_phentsize == sizeof(ElfW(Phdr)) ? why_unrecorded(image, header) : NULL;
}

/* The loader brings no library into a program that gets other rights than its caller's. */
static bool gets_rights(const char *path)
{
	struct stat st;

	if (stat(path, &st) || getuid() == 0)
		return false;
	return (st.st_mode & S_ISUID && st.st_uid != getuid()) ||
	       (st.st_mode & S_ISGID && st.st_gid != getgid()) ||
	       getxattr(path, "security.capability", NULL, 0) > 0;
}

void image_say(const char *path)
{
	const char *reason = NULL;
	struct image image;

	if (gets_rights(path)) {
		reason = "runs with other rights, so no library can be brought in: its own calls "
			 "are not recorded; run a copy without them";
	} else if (map_file(path, &image)) {
		reason = why(&image);
		munmap((void *)image.at, image.size);
	}
	if (reason)
		warn("run: %s %s", path, reason);
}
