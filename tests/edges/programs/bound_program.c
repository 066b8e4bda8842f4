/* One call of the C function, two by its binding. */
int bound_put(int value);
int bound_put_(const int *value);

int main(void)
{
	int one = 1;

	return bound_put(1) + bound_put_(&one) + bound_put_(&one) != 6;
}
