"""A copy of a run in which nobody's names are: hashed with a key, the same everywhere, and searched for afterwards."""
