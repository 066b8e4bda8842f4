#!/usr/bin/env bash
# install.sh PREFIX: puts what `make build` left into PREFIX.
#
#   PREFIX/bin/fathom, fathom-engine     links into the home below
#   PREFIX/lib/fathom/                   home: a venv with the Python package, the commands in its bin/
#   PREFIX/lib/fathom/libfathom.so       brought into every traced process
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 1 ] || { echo "usage: install.sh PREFIX" >&2; exit 2; }
prefix=$(realpath -m "$1")
home=$prefix/lib/fathom

for built in build/fathom build/libfathom.so engine/target/release/fathom-engine; do
	[ -e "$built" ] || { echo "install: $built is missing; run make build first" >&2; exit 1; }
done
mkdir -p "$prefix/bin" || { echo "install: cannot write below $prefix" >&2; exit 1; }

"${PYTHON:-python3}" -m venv "$home"
"$home/bin/python3" -m pip install -q --disable-pip-version-check --upgrade .
install -m 755 build/fathom engine/target/release/fathom-engine "$home/bin/"
# The library is replaced by rename: programs that run under the old one keep it.
install -m 755 build/libfathom.so "$home/libfathom.so.new"
mv -f "$home/libfathom.so.new" "$home/libfathom.so"
mkdir -p "$home/lib/fathom"
ln -sfn ../../libfathom.so "$home/lib/fathom/libfathom.so" # where the command looks, from its own bin/
ln -sfn ../lib/fathom/bin/fathom "$prefix/bin/fathom"
ln -sfn ../lib/fathom/bin/fathom-engine "$prefix/bin/fathom-engine"
echo "installed into $prefix: run $prefix/bin/fathom --help" >&2
