/* One place writes for the program itself, in its regions, and where HDF5 calls back. hdf5_region_lines FILE */
#include <fathom.h>
#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>

#include "hdf5_must.h"

enum { TIMES = 200 };

static int file;

static __attribute__((noinline)) void put(void)
{
	MUST(pwrite(file, "12345678", 8, 0));
}

static herr_t put_of_link(hid_t group, const char *name, const H5L_info_t *info, void *data)
{
	(void)group, (void)name, (void)info, (void)data;
	put();
	return 0;
}

static void in_regions(void)
{
	fathom_begin("one");
	put();
	fathom_begin("two");
	put();
	fathom_end("two");
	fathom_end("one");
}

static void in_a_call(hid_t links)
{
	MUST(H5Literate(links, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, put_of_link, NULL));
}

static void in_a_call_in_a_region(hid_t links)
{
	fathom_begin("one");
	in_a_call(links);
	fathom_end("one");
}

int main(int argc, char **argv)
{
	hid_t own, links;

	MPI_Init(&argc, &argv);
	MUST(argc - 2);
	MUST(own = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
	MUST(links = H5Gcreate2(own, "links", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	MUST(H5Lcreate_soft("/", links, "link", H5P_DEFAULT, H5P_DEFAULT));
	MUST(file = open("/dev/null", O_WRONLY));
	for (int i = 0; i < TIMES; i++) {
		put();
		in_regions();
		in_a_call(links);
		put();
		in_a_call_in_a_region(links);
	}
	H5Gclose(links);
	H5Fclose(own);
	MPI_Finalize();
	return 0;
}
