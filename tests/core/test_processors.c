/* Which cgroup limits processor time, and to how many processors: what kernels write, and what they do not. */
#include <string.h>

#include "check.h"
#include "core/processors.h"
#include "core/text.h"

static void group(const char *cgroups, const char *path, bool v1)
{
	char text[512];
	const char *found;
	bool is_v1;

	text_copy(text, sizeof(text), cgroups);
	found = quota_group(text, &is_v1);
	CHECK((found != NULL) == (path != NULL));
	CHECK(!found || (strcmp(found, path) == 0 && is_v1 == v1));
}

int main(void)
{
	group("0::/user.slice/a:b\n", "/user.slice/a:b", false);
	group("9:name=systemd:/x\n3:cpuset:/y\n2:cpuacct:/z\n0::/\n", "/", false);
	group("3:cpuset:/y\n1:cpu:/z\n0::/\n", "/z", true);
	group("0::/\n4:cpu,cpuacct:/z\n", "/z", true);
	group("4:cpuacct,cpu:/z", "/z", true);
	group("3:cpuset:/y\n", NULL, false);
	group("cpu\n\n:\n", NULL, false);
	group("", NULL, false);

	CHECK(quota_processors("max 100000\n") == 0);
	CHECK(quota_processors("-1 100000\n") == 0);
	CHECK(quota_processors("50000 100000\n") == 1);
	CHECK(quota_processors("100000 100000\n") == 1);
	CHECK(quota_processors("150000 100000") == 2);
	CHECK(quota_processors("6400000 100000\n") == 64);
	CHECK(quota_processors("50000 ") == 0 && quota_processors("50000 0") == 0);
	CHECK(quota_processors("x") == 0 && quota_processors("") == 0);
	return 0;
}
