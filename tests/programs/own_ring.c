/* Writes "hello" by an io_uring that it sets up and maps itself, without liburing.
 *	own_ring FILE */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "must.h"

static char *mapped(int ring, size_t bytes, off_t what)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what);

	MUST(at != MAP_FAILED);
	return at;
}

int main(int count, char **words)
{
	struct io_uring_params p = {0};
	struct io_uring_sqe *entry;
	char *queue;
	int fd, ring;

	MUST(count == 2 && (fd = open(words[1], O_WRONLY | O_CREAT | O_TRUNC, 0666)) >= 0);
	ring = (int)syscall(SYS_io_uring_setup, 4, &p);
	MUST(ring >= 0);
	queue = mapped(ring, p.sq_off.array + p.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
	entry = (void *)mapped(ring, p.sq_entries * sizeof(*entry), IORING_OFF_SQES);
	*entry = (struct io_uring_sqe){
		.opcode = IORING_OP_WRITE, .fd = fd, .addr = (uintptr_t) "hello", .len = 5};
	*(uint32_t *)(queue + p.sq_off.array) = 0;
	__atomic_store_n((uint32_t *)(queue + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	MUST(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
	return 0;
}
