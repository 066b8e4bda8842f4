/* Lustre says on which OSTs a file lies in its extended attribute `lustre.lov`: struct lov_user_md of
 * lustre_user.h, or several of them, one for each component. The client has it, so asking costs no message. */
#include <linux/stat.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "core/lustre.h"
#include "core/raw.h"
#include "core/text.h"

enum {
	LUSTRE = 0x0bd00bd0, /* of file systems */
	PLAIN = 0x0bd10bd0,
	IN_POOL = 0x0bd30bd0,
	COMPONENTS = 0x0bd60bd0,
	/* Bytes: heads of the three kinds, a component's entry, an object. */
	PLAIN_HEAD = 32,
	POOL_HEAD = 48,
	COMPONENTS_HEAD = 32,
	ENTRY = 48,
	OBJECT = 24,
	INSTANTIATED = 0x10,
	VALUE = 65536, /* no extended attribute is larger */
	DEVICES = 16,
};

/* Devices that are not Lustre, so that the kernel is asked once for each. Any thread writes. */
static _Atomic uint64_t other_devices[DEVICES];

static uint32_t number4(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint16_t number2(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static bool put_ost(struct lustre_layout *out, uint32_t ost)
{
	char text[24];
	size_t length;

	text_decimal(text, ost);
	length = strlen(text);
	if (out->length + length + 2 > sizeof(out->osts))
		return false;
	if (out->length)
		out->osts[out->length++] = ',';
	memcpy(out->osts + out->length, text, length + 1);
	out->length += length;
	return true;
}

/* One component, or a file that has only one. `is_first`: its stripes are the size of all so far. */
static bool read_plain(const uint8_t *at, size_t bytes, bool is_first, struct lustre_layout *out)
{
	uint32_t magic = bytes >= PLAIN_HEAD ? number4(at) : 0;
	size_t head = magic == IN_POOL ? POOL_HEAD : PLAIN_HEAD;
	uint32_t stripe_bytes, stripes;

	if ((magic != PLAIN && magic != IN_POOL) || bytes < head)
		return false;
	stripe_bytes = number4(at + 24);
	stripes = number2(at + 28);
	if (stripes > (bytes - head) / OBJECT)
		return false; /* as of a directory: it has no objects */
	out->stripe_bytes = is_first || out->stripe_bytes == stripe_bytes ? stripe_bytes : 0;
	for (uint32_t i = 0; i < stripes; i++)
		if (!put_ost(out, number4(at + head + (size_t)i * OBJECT + 20)))
			return false;
	return true;
}

static bool read_components(const uint8_t *at, size_t bytes, struct lustre_layout *out)
{
	uint32_t entries = bytes >= COMPONENTS_HEAD ? number2(at + 14) : 0;
	bool is_first = true;

	if (entries > (bytes - COMPONENTS_HEAD) / ENTRY)
		return false;
	for (uint32_t i = 0; i < entries; i++) {
		const uint8_t *entry = at + COMPONENTS_HEAD + (size_t)i * ENTRY;
		uint32_t offset = number4(entry + 24), size = number4(entry + 28);

		if (!(number4(entry + 4) & INSTANTIATED))
			continue;
		if (offset > bytes || size > bytes - offset ||
		    !read_plain(at + offset, size, is_first, out))
			return false;
		is_first = false;
	}
	return true;
}

bool lustre_read(const void *value, size_t bytes, struct lustre_layout *out)
{
	bool is_read;

	out->stripe_bytes = 0;
	out->length = 0;
	out->osts[0] = '\0';
	if (bytes < COMPONENTS_HEAD)
		return false;
	is_read = number4(value) == COMPONENTS ? read_components(value, bytes, out)
					       : read_plain(value, bytes, true, out);
	return is_read && out->length > 0;
}

bool lustre_has(int fd, const struct statx *st)
{
	/* Lustre's devices are none of the kernel's drivers: those have a major number. */
	uint64_t device = (uint64_t)1 << 32 | st->stx_dev_minor;
	_Atomic uint64_t *known = &other_devices[st->stx_dev_minor % DEVICES];
	struct statfs at;

	if (!S_ISREG(st->stx_mode) || st->stx_dev_major || atomic_load(known) == device)
		return false;
	if (raw3(SYS_fstatfs, fd, (long)&at, 0) != 0)
		return false;
	if (at.f_type == LUSTRE)
		return true;
	atomic_store(known, device);
	return false;
}

static void *room_of(size_t bytes)
{
	long at = raw6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at < 0 && at > -4096 ? NULL : (void *)at;
}

struct lustre_layout *lustre_layout_of(int fd)
{
	/* Not on the stack: a signal handler's may be small. */
	struct lustre_layout *layout = room_of(sizeof(*layout) + VALUE);
	long got;

	if (!layout)
		return NULL;
	got = raw4(SYS_fgetxattr, fd, (long)"lustre.lov", (long)(layout + 1), VALUE);
	if (got > 0 && got <= VALUE && lustre_read(layout + 1, (size_t)got, layout))
		return layout;
	lustre_release(layout);
	return NULL;
}

void lustre_release(struct lustre_layout *layout)
{
	raw3(SYS_munmap, (long)layout, sizeof(*layout) + VALUE, 0);
}
