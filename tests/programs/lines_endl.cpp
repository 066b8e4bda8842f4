/* Lines of text through a stream of C++, each ended by std::endl, which flushes, or by a line feed.
 *
 *	lines_endl endl|newline FILE */
#include <fstream>
#include <string>
#include <vector>

int main(int, char **argv)
{
	const bool endl = argv[1] == std::string("endl");
	std::ofstream file(argv[2]);
	const std::vector<char> large(1 << 20, '.');

	for (int i = 0; i < 16; i++)
		file.write(large.data(), large.size());
	for (int i = 0; i < 2000; i++) {
		file << i / 7.0;
		if (endl)
			file << std::endl;
		else
			file << '\n';
	}
	return !file.flush();
}
