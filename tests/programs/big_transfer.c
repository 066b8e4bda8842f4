/* Asks for 3 GiB in one call. The kernel moves 2 GiB less a page at most: asked and moved differ, and
 * both are above 2^31 when summed. One small piece of memory is mapped over and over as the buffer. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "must.h"

#define ASKED (3ull << 30)
#define MOVED 2147479552ll

static void *buffer(void)
{
	const size_t piece = 64 << 20;
	int memory = memfd_create("buffer", 0);
	char *at = mmap(NULL, ASKED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	MUST(memory >= 0 && ftruncate(memory, (off_t)piece) == 0 && at != MAP_FAILED);
	for (size_t done = 0; done < ASKED; done += piece)
		MUST(mmap(at + done, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory,
			  0) != MAP_FAILED);
	return at;
}

int main(int argc, char **argv)
{
	char *data = buffer();

	MUST(argc == 2);
	int null = open("/dev/null", O_WRONLY);
	MUST(write(null, data, ASKED) == MOVED);
	MUST(pwrite(null, data, ASKED, 5ll << 40) == MOVED);
	int sparse = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(ftruncate(sparse, 8ll << 30) == 0);
	MUST(pread(sparse, data, ASKED, 4ll << 30) == MOVED);
	MUST(lseek(sparse, 6ll << 30, SEEK_SET) == 6ll << 30);
	MUST(read(sparse, data, ASKED) == MOVED);
	MUST(lseek(sparse, 0, SEEK_CUR) == (6ll << 30) + MOVED);
	return 0;
}
