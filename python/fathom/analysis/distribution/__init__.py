"""How the elements of datasets and files are spread over ranks, in the terms of High Performance Fortran."""
