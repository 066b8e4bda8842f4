"""Answers that are derived from the tables of a run and stored beside them."""
