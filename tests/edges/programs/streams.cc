// C++: streams of libstdc++, an exception thrown through them, a destructor at exit.
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <unistd.h>

struct Last {
	~Last() { (void)!write(1, "last\n", 5); }
};
static Last last;

int main()
{
	std::ofstream file("streams.out");
	file.exceptions(std::ios::badbit);
	for (int i = 0; i < 10; i++)
		file << std::string(100000, 'x') << std::flush;
	try {
		throw std::runtime_error("thrown");
	} catch (const std::exception &error) {
		std::cout << error.what() << std::endl;
	}
	return 0;
}
