// Regions as C++ scopes; part.c and a library include fathom.h too. plus FILE LIBRARY
#include <dlfcn.h>
#include <fathom.h>
#include <fcntl.h>
#include <stdexcept>
#include <stdio.h>
#include <unistd.h>

extern "C" void other_file(int file);

static void throws(int file)
{
	fathom::region inner("inner", "number", 2);

	if (pwrite(file, "12345678", 8, 8) != 8)
		perror("pwrite");
	throw std::runtime_error("left");
}

int main(int argc, char **argv)
{
	int file = open(argv[1], O_CREAT | O_RDWR, 0644);

	{
		fathom::region outer("outer");

		other_file(file);
		try {
			throws(file);
		} catch (const std::runtime_error &) {
			fathom_mark("caught");
		}
	}
	if (argc > 2) {
		void *library = dlopen(argv[2], RTLD_NOW);
		void (*in_library)(int) = library ? (void (*)(int))dlsym(library, "in_library") : NULL;

		if (!in_library)
			return 1;
		in_library(file);
	}
	puts("done");
	return 0;
}
