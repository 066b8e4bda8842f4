void FIND(const char *name);

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		FIND(argv[i]);
	return 0;
}
