/* Layouts of Lustre, as its clients give them: of one component, in a pool, of several; of a directory, damaged, of
 * any bytes. What is no layout of Lustre is never asked for one. */
#include <fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "core/lustre.h"

static uint8_t value[4096];
static struct lustre_layout layout;

static size_t put(size_t at, uint64_t number, size_t bytes)
{
	memcpy(value + at, &number, bytes);
	return at + bytes;
}

static size_t plain(size_t at, bool in_pool, uint32_t stripe_bytes, const uint32_t *osts,
		    uint16_t stripes)
{
	at = put(at, in_pool ? 0x0bd30bd0 : 0x0bd10bd0, 4);
	at = put(put(at, 1, 4) + 16, stripe_bytes, 4); /* pattern; the file's identifier */
	at = put(put(at, stripes, 2), 0, 2);
	at += in_pool ? 16 : 0;
	for (uint16_t i = 0; i < stripes; i++)
		at = put(at + 20, osts[i], 4);
	return at;
}

static void one_component(void)
{
	const uint32_t osts[] = {14, 0, 163};

	CHECK(lustre_read(value, plain(0, false, 1 << 20, osts, 3), &layout));
	CHECK(!strcmp(layout.osts, "14,0,163") && layout.length == 8);
	CHECK(layout.stripe_bytes == 1 << 20);
	CHECK(lustre_read(value, plain(0, true, 65536, osts, 1), &layout));
	CHECK(!strcmp(layout.osts, "14") && layout.stripe_bytes == 65536);
	CHECK(!lustre_read(value, plain(0, false, 1 << 20, osts, 0), &layout)); /* no objects yet */
}

/* Two components of which the kernel has made `made`; the second one's stripes have `bytes`. */
static size_t components(uint32_t made, uint32_t bytes)
{
	const uint32_t osts[] = {7, 8, 9};
	const size_t first = 32 + 2 * 48;
	size_t second, end;

	memset(value, 0, sizeof(value));
	second = plain(first, true, 1 << 20, osts, 1);
	end = plain(second, true, bytes, osts, 3);
	put(0, 0x0bd60bd0, 4);
	put(14, 2, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const size_t entry = 32 + i * 48;

		put(entry + 4, i < made ? 0x10 : 0, 4);
		put(entry + 24, i ? second : first, 4);
		put(entry + 28, i ? end - second : second - first, 4);
	}
	return end;
}

static void several_components(void)
{
	CHECK(lustre_read(value, components(1, 4 << 20), &layout));
	CHECK(!strcmp(layout.osts, "7") && layout.stripe_bytes == 1 << 20);
	CHECK(lustre_read(value, components(2, 4 << 20), &layout));
	CHECK(!strcmp(layout.osts, "7,7,8,9") && layout.stripe_bytes == 0);
	CHECK(lustre_read(value, components(2, 1 << 20), &layout) &&
	      layout.stripe_bytes == 1 << 20);
}

static void what_is_cut_off_or_damaged(void)
{
	const size_t end = components(2, 4 << 20);
	uint64_t seed = 5;

	for (size_t bytes = 0; bytes < end; bytes++)
		CHECK(!lustre_read(value, bytes, &layout));
	put(32 + 24, UINT32_MAX, 4); /* where the first one is */
	CHECK(!lustre_read(value, end, &layout));
	for (int i = 0; i < 20000; i++) {
		components(2, 4 << 20);
		for (int n = 0; n < 4; n++)
			value[random_below(&seed, end)] = (uint8_t)random_next(&seed);
		lustre_read(value, end, &layout);
		CHECK(layout.length < sizeof(layout.osts) && strlen(layout.osts) == layout.length);
	}
}

static void more_osts_than_there_is_room_for(void)
{
	uint32_t osts[150];

	for (int i = 0; i < 150; i++)
		osts[i] = UINT32_MAX;
	CHECK(lustre_read(value, plain(0, false, 1 << 20, osts, 150), &layout));
	CHECK(layout.length == 150 * 11 - 1);
}

static void other_file_systems(void)
{
	for (const char *const *path =
		     (const char *const[]){"/dev/shm/lustre", "/proc/self/status", "/", NULL};
	     *path; path++) {
		int fd = open(*path,
			      **path == '/' && strstr(*path, "shm") ? O_RDWR | O_CREAT : O_RDONLY,
			      0600);
		struct statx st = {0};

		if (fd < 0)
			continue;
		CHECK(!syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &st));
		CHECK(!lustre_has(fd, &st));
		CHECK(!lustre_has(fd, &st)); /* the second time it is known */
		CHECK(!lustre_layout_of(fd));
		close(fd);
	}
	unlink("/dev/shm/lustre");
}

int main(void)
{
	one_component();
	several_components();
	what_is_cut_off_or_damaged();
	more_osts_than_there_is_room_for();
	other_file_systems();
	return 0;
}
