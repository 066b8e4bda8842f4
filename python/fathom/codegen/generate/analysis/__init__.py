"""Looks at what all ranks do together, and refuses what cannot be right before code is written."""
