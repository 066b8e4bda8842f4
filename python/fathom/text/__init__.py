"""How numbers and tables are written. Knows no run."""
