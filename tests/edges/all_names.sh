#!/bin/sh
# Every function that the installed libc, MPIs and HDF5s export, in the form make_tables.py reads.
set -eu

names() # API COPIES PATTERN LIBRARY...
{
	api=$1 copies=$2 pattern=$3
	shift 3
	for library in "$@"; do
		[ -e "$library" ] || continue
		nm -D --defined-only "$library" |
			awk -v api="$api" -v copies="$copies" -v pattern="$pattern" \
				'$2 ~ /[TWi]/ { sub(/@.*/, "", $3); if ($3 ~ pattern) print api, $3, copies }'
	done
}

libc=$(ldd /bin/sh | awk '/libc\.so/ { print $3 }')
where=$(dirname "$(readlink -f "$libc")")
{
	names posix 3 . "$libc"
	names mpiio 2 '^P?MPI_' "$where"/libmpich.so.12 "$where"/libmpi.so.40
	names hdf5 3 '^H5' "$where"/libhdf5_*.so
} | sort -u -k 2,2 >"$1"
