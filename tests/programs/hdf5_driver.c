/* A file that is written and read by calls of HDF5's file driver, without a dataset. */
#include <hdf5.h>
#include <string.h>

enum { PIECE = 4096, PIECES = 8 };
static char data[PIECE];

int main(int argc, char **argv)
{
	H5FD_t *file = H5FDopen(argv[argc - 1], H5F_ACC_RDWR | H5F_ACC_CREAT | H5F_ACC_TRUNC,
				H5P_DEFAULT, (haddr_t)PIECE * PIECES);
	int failed = !file || H5FDset_eoa(file, H5FD_MEM_DEFAULT, (haddr_t)PIECE * PIECES) < 0;

	memset(data, 1, sizeof(data));
	for (int i = 0; !failed && i < PIECES; i++)
		failed = H5FDwrite(file, H5FD_MEM_DRAW, H5P_DEFAULT, (haddr_t)i * PIECE, PIECE,
				   data) < 0;
	for (int i = 0; !failed && i < PIECES / 2; i++)
		failed = H5FDread(file, H5FD_MEM_DRAW, H5P_DEFAULT, (haddr_t)i * PIECE, PIECE,
				  data) < 0;
	return failed || H5FDflush(file, H5P_DEFAULT, 0) < 0 || H5FDclose(file) < 0;
}
