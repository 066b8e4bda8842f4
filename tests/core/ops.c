/* The ops of the tests: op n has n fields, up to 8; then one that absorbs itself, one whose bytes are counted,
 * one that encloses others. */
#include "check.h"
#include "core/call.h"
#include "edges/edges.h"

const struct op ops[] = {
	{"test", "none", "meta", "", 0, 0, 0, 0, 0},
	{"test", "one", "meta", "a", 0, 1, 0, 0, 0},
	{"test", "two", "read", "a,b", 0, 2, 0, 0, 0},
	{"test", "three", "read", "a,b,c", 0, 3, 1, 0, 0},
	{"test", "four", "write", "a,b,c,d", 0, 4, 0, 0, 0},
	{"test", "five", "write", "a,b,c,d,e", 0, 5, 0, 0, 1},
	{"test", "six", "write", "a,b,c,d,e,f", 0, 6, 0, 0, 0},
	{"test", "seven", "write", "a,b,c,d,e,f,g", 0, 7, 0, 0, 0},
	{"test", "eight", "write", "a,b,c,d,e,f,g,h", 0, 8, 0, 0, 0},
	{"test", "absorbs", "meta", "a", 0, 1, 0, 1, 0},
	{"test", "moves", "write", "size,offset,bytes", 0, 3, 0, 0, 0},
	{"test", "outer", "meta", "a,b", 0, 2, 0, 0, 0},
};
const uint32_t ops_count = TEST_OPS;

__thread struct entry_site entry_site;
