/* What netCDF-C's and PnetCDF's calls define, and what they leave in force. */
#include "handlers/library.h"
#include "handlers/netcdf_model.h"

void nc_named(struct call *c, const char *what, const char *name)
{
	if (!c->error && c->thread && name)
		call_text(c, what, name);
}

void nc_variable_defined(struct call *c, enum nc_api api, int id, const int *variable)
{
	KEEP_ERRNO;
	const struct nc_library *lib = nc_library(c->wrapper, api);
	const struct nc_variable *v =
		lib && variable && !c->error ? nc_variable(c, lib, id, *variable) : NULL;

	if (v)
		c->object = v->object;
}

void nc_fill_set(struct call *c, enum nc_api api, int id, int variable, bool fill)
{
	const uint32_t object = nc_object(c->wrapper, api, id, variable);

	if (object && !c->error && c->thread)
		object_hint(c, object, false, "fill", fill ? "yes" : "no");
}

void nc_tell_format(struct call *c, const struct nc_library *lib, int id)
{
	static const char *const names[] = {[1] = "classic",
					    [2] = "64-bit offset",
					    [3] = "netCDF-4",
					    [4] = "netCDF-4 classic model",
					    [5] = "CDF-5"};
	int format = 0;

	if (lib->format(id, &format) == 0 && format > 0 && format < 6)
		object_hint(c, c->object, true, "format", names[format]);
}
