#!/bin/sh
# Makes libfathom-static.a: the runtime as one object, of which a program sees one symbol, and an object per slot.
# usage: archive.sh COMPILER ARCHIVE SLOTS OBJECT…
#   COMPILER: knows the machine and its tools    SLOTS: lines `name real`, as the catalog's generator writes them
set -eu
compiler=$1 archive=$2 slots=$3
shift 3
tool() { "$compiler" -print-prog-name="$1"; }
assembler=$(tool as)
here=$(dirname "$0")
work=$archive.parts
mkdir -p "$work"
cp "$here/slot.$("$compiler" -dumpmachine | cut -d - -f 1).inc" "$work/slot.inc"

# Calls of its own are no calls of the program's: they go past the slots.
awk '{ print $1, "__real_" $1 }' "$slots" >"$work/past"
"$(tool ld)" -r -o "$work/whole.o" "$@"
"$(tool objcopy)" --redefine-syms="$work/past" --keep-global-symbol=fathom_linked --strip-debug \
	"$work/whole.o" "$work/fathom.o"

# Thousands of small objects: made anew only when the list, or what a slot is, has changed.
cat "$work/slot.inc" "$slots" >"$work/wanted"
if ! cmp -s "$work/wanted" "$work/made"; then
	rm -rf "$work/slots" "$work/made"
	mkdir "$work/slots"
	# shellcheck disable=SC2016 # the inner shell's
	assembler=$assembler xargs -P "$(nproc)" -n 128 sh -c '
		cd "$0"
		while [ $# -gt 0 ]; do
			printf ".include \"slot.inc\"\nSLOT %s, %s\n" "$1" "$2" | "$assembler" -o "slots/$1.o"
			shift 2
		done' "$work" <"$slots"
	mv "$work/wanted" "$work/made"
fi
find "$work/slots" -name '*.o' | LC_ALL=C sort >"$work/list"
rm -f "$archive.new"
"$(tool ar)" crD "$archive.new" "$work/fathom.o" "@$work/list"
mv "$archive.new" "$archive"
