#!/usr/bin/env bash
# install.sh PREFIX: puts what `make build` left into PREFIX.
#
#   PREFIX/lib/fathom/                      home: a venv with the wheel in it; `installed` there lists what is outside
#   PREFIX/bin/fathom, fathom-engine        links to the commands there
#   PREFIX/include/fathom.h, fathom.f90     links to those of the wheel
#   PREFIX/share/fathom/probes              link to the example catalogs
#   PREFIX/share/man/man1                   a page per command
#   PREFIX/share/bash-completion, zsh, fish completion
#   PREFIX/share/modulefiles/fathom         VERSION for Tcl, VERSION.lua for Lmod
#
# install.sh --remove PREFIX: takes all of that away again, and directories that are empty then.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
	echo "install: $*" >&2
	exit 1
}

# What is listed, the home, and each directory above them that is empty then, up to the prefix.
remove() {
	local places directories
	[ -f "$home/installed" ] || fail "nothing below $prefix was installed by this script"
	mapfile -t places <"$home/installed"
	mapfile -t directories < <(printf '%s\n' "${places[@]%/*}" lib | sort -u)
	cd "$prefix"
	rm -f -- "${places[@]}"
	rm -rf lib/fathom
	for directory in "${directories[@]}"; do
		[ ! -d "$directory" ] || rmdir -p --ignore-fail-on-non-empty -- "$directory"
	done
}

# add SOURCE PLACE: a link below the prefix, and a line in the list.
add() {
	local place=$prefix/$2
	mkdir -p "$(dirname "$place")"
	ln -sfn "$(realpath --no-symlinks --relative-to="$(dirname "$place")" "$1")" "$place"
	echo "$2" >>"$home/installed"
}

if [ "${1:-}" = --remove ] && [ $# -eq 2 ]; then
	prefix=$(realpath -m "$2")
	home=$prefix/lib/fathom
	remove
	exit
fi
[ $# -eq 1 ] || { echo "usage: install.sh [--remove] PREFIX" >&2; exit 2; }
prefix=$(realpath -m "$1")
home=$prefix/lib/fathom

mkdir -p "$prefix/bin" "$home" 2>/dev/null ||
	fail "cannot write below $prefix; it is built now, so whoever may can run packaging/install.sh $prefix"
"${PYTHON:-python3}" -m venv "$home"
pip=("$home/bin/python3" -m pip install -q --disable-pip-version-check)
"${pip[@]}" .
"${pip[@]}" --force-reinstall --no-deps . # a new build of the same version
"$home/bin/python3" packaging/share.py "$home/bin/fathom" "$home/share"
version=$("$home/bin/fathom" --version)
version=${version#fathom }
for kind in "" .lua; do
	mkdir -p "$home/share/modulefiles/fathom"
	sed "s|@PREFIX@|$prefix|g" "packaging/modulefiles/fathom${kind:-.tcl}" >"$home/share/modulefiles/fathom/$version$kind"
done

: >"$home/installed"
for command in fathom fathom-engine; do
	add "$home/bin/$command" "bin/$command"
done
include=$(cd / && "$home/bin/python3" -c 'import fathom; print(fathom.include())')
for file in fathom.h fathom.f90; do
	add "$include/$file" "include/$file"
done
add "$include/../examples/probes" share/fathom/probes
while IFS= read -r file; do
	add "$home/share/$file" "share/$file"
done < <(cd "$home/share" && find man/man1/fathom*.1 bash-completion zsh fish modulefiles -type f)
for library in libfathom.so libfathom_fwd_preload.so fathom-forward-fuse; do
	[ ! -e "$home/lib/fathom/$library" ] || ln -sfn "lib/fathom/$library" "$home/$library" # the last takes libfuse
done
echo "installed: $prefix/bin/fathom" >&2
