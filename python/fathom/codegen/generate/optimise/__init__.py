"""Decides how the data is moved, says why, and how many raw reads and writes that will be."""
