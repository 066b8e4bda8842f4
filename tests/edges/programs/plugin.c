/* A plugin linked to one copy of the library `thing`. */
int thing_put(int n);
int plugin_run(int n);

int plugin_run(int n)
{
	return thing_put(n);
}
