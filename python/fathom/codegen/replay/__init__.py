"""A run's calls made again: a C program that makes them, and what it takes to run it."""
