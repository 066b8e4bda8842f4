#!/usr/bin/env bash
# install.sh PREFIX: puts what `make build` left into PREFIX.
#
#   PREFIX/bin/fathom, fathom-engine     links to the commands in the home below
#   PREFIX/include/fathom.h, fathom.f90  links to those of the wheel
#   PREFIX/share/fathom/probes           link to the example catalogues
#   PREFIX/lib/fathom/                   home: a venv with the wheel in it
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 1 ] || { echo "usage: install.sh PREFIX" >&2; exit 2; }
prefix=$(realpath -m "$1")
home=$prefix/lib/fathom

mkdir -p "$prefix/bin" "$prefix/include" "$home" || { echo "install: cannot write below $prefix" >&2; exit 1; }
"${PYTHON:-python3}" -m venv "$home"
pip=("$home/bin/python3" -m pip install -q --disable-pip-version-check)
"${pip[@]}" .
"${pip[@]}" --force-reinstall --no-deps . # a new build of the same version
for command in fathom fathom-engine; do
	ln -sfn "../lib/fathom/bin/$command" "$prefix/bin/$command"
done
include=$(cd / && "$home/bin/python3" -c 'import fathom; print(fathom.include())')
for file in fathom.h fathom.f90; do
	ln -sfn "$(realpath --relative-to="$prefix/include" "$include/$file")" "$prefix/include/$file"
done
mkdir -p "$prefix/share/fathom"
ln -sfn "$(realpath --relative-to="$prefix/share/fathom" "$include/../examples/probes")" "$prefix/share/fathom/probes"
for library in libfathom.so libfathom_fwd_preload.so fathom-forward-fuse; do
	[ ! -e "$home/lib/fathom/$library" ] || ln -sfn "lib/fathom/$library" "$home/$library" # the last takes libfuse
done
echo "installed: $prefix/bin/fathom" >&2
