#!/bin/bash
# Runs one command alone, under strace, under the plain symbol preload and under the edges, and
# prints what each saw: the figures of docs/interception.md.
# usage: compare.sh PLAIN_PRELOAD FATHOM_EDGES_ALL COMMAND...
# shellcheck disable=SC2046 # what was seen is joined into one line
set -u
plain=$1 edges=$2
shift 2
tmp=$(mktemp -d)
names='write|pwrite64|pread64|fdatasync|MPI_Initialized|H5open|H5Fcreate|H5Dwrite'

"$@" >"$tmp/alone" 2>/dev/null
echo "alone: exit $?"
strace -f -o "$tmp/strace" "$@" >/dev/null 2>&1
echo "strace:" $(grep -oE "^[0-9]+ +(write|pwrite64|pread64|fdatasync)\(" "$tmp/strace" | awk '{ print $2 }' | sort | uniq -c)
LD_PRELOAD=$plain "$@" >"$tmp/plain" 2>"$tmp/plain.err"
echo "plain: exit $?, output $(cmp -s "$tmp/alone" "$tmp/plain" && echo same || echo differs);" $(grep '^call ' "$tmp/plain.err")
EDGES_OUT=$tmp/record LD_PRELOAD=$edges "$@" >"$tmp/edges" 2>/dev/null
echo "edges: exit $?, output $(cmp -s "$tmp/alone" "$tmp/edges" && echo same || echo differs);" $(grep -E "^call ($names) |^note" "$tmp/record")
rm -r "$tmp"
