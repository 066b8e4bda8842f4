/* A library between the program and finder: its RPATH is inherited by finder. */
void find(const char *name);
void pass(const char *name);

void pass(const char *name)
{
	find(name);
}
