/* A library with its Fortran binding inside: bound_put_ calls bound_put through the library's own slot. */
int bound_put(int value)
{
	return value + 1;
}

int bound_put_(const int *value)
{
	return bound_put(*value);
}
