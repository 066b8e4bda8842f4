"""Answers of a run for other programs: its first screen, limits on its I/O, its source lines."""
