"""What people read: numbers, tables, pages. Knows no run and no SQL."""
