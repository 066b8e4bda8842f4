/* FLASH whose checkpoint is written by code of fathom generate (examples/generate/flash.iog): only the call is here. */
#include "../../kernels/common/run.h"
#include "flash_io.h"

enum { LREFINE, NODETYPE, GID, COORDINATES, BLOCKSIZE, BNDBOX, DENS };

static void write_generated(const struct job *job, const char *path, const struct layout *l,
			    const struct pieces *p)
{
	const struct piece *piece = p->piece;
	int64_t blocks = (int64_t)piece[LREFINE].count[0];

	if (flash_write(job->communicator, path, blocks, 0, piece[LREFINE].buffer,
			piece[NODETYPE].buffer, piece[GID].buffer, piece[COORDINATES].buffer,
			piece[BLOCKSIZE].buffer, piece[BNDBOX].buffer, piece[DENS].buffer))
		fail("flash_write", l->name, "failed");
}

const struct form form_generated = {"nc", true, write_generated, NULL};
