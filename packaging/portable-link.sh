#!/bin/sh
# portable-link.sh [GLIBC COMPILER] ARGUMENT...: links as the compiler would, against the names that glibc GLIBC had: Zig has
# stubs of each. CMake gives the two words, cargo neither. PORTABLE_PYTHON is a Python with Zig.
glibc=2.28
case $1 in
2.*) glibc=$1 && shift 2 ;;
esac
exec "$PORTABLE_PYTHON" -m ziglang cc -target "$(uname -m)-linux-gnu.$glibc" "$@"
