"""Runs for other tools: `fathom export`. One entry of `formats` and one file, or room, per format."""
