"""Runs of what other tools recorded: readers tell what they found in lines, the engine makes streams of them."""
