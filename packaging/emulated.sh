#!/usr/bin/env bash
# emulated.sh: the C of the runtime for aarch64, by Debian's cross-compiler: its unit tests under qemu-user, and, where the kernel
# starts such programs by qemu (binfmt_misc), a program recorded on both machines. The engine that reads it is this one's.
# It takes gcc-aarch64-linux-gnu and qemu-user-static.
set -euo pipefail
cd "$(dirname "$0")/.."
machine=aarch64
out=$PWD/build/emulated
root=/usr/$machine-linux-gnu
tests='core-'
programs=(core_{clock,counters,crc,descriptors,handles,hot,levels,lustre,processors,rows,text,unwind})

for tool in "$machine-linux-gnu-gcc" "qemu-$machine-static"; do
	command -v "$tool" >/dev/null || { echo "emulated: skipped, no $tool; apt-get install gcc-$machine-linux-gnu qemu-user-static" >&2; exit; }
done
cmake -S . -B "$out" -G Ninja -DPKG_CONFIG_EXECUTABLE=NO -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$machine \
	-DCMAKE_C_COMPILER=$machine-linux-gnu-gcc -DCMAKE_ASM_COMPILER=$machine-linux-gnu-gcc \
	-DCMAKE_CROSSCOMPILING_EMULATOR="qemu-$machine-static;-L;$root" -DPython3_EXECUTABLE="$PWD/.venv/bin/python" >/dev/null
cmake --build "$out" --target fathom libfathom fathom-static fathom_fwd_preload "${programs[@]}"
ctest --test-dir "$out" --output-on-failure --no-tests=error --tests-regex "$tests"

export QEMU_LD_PREFIX=$root PATH=$PWD/.venv/bin:$PATH
if ! "$out/fathom" --version >/dev/null 2>&1; then
	echo "emulated: no program recorded: this kernel does not start programs for $machine" >&2
	exit
fi
# One program that makes every call that moves data, on both machines: the same rows.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rows() {
	"$1-linux-gnu-gcc" -o "$work/calls" tests/programs/data_calls.c
	mkdir "$work/$1"
	"$2" run --no-show -o "$work/$1" -- "$work/calls" "$work/$1"
	build/fathom query "$work/$1" --sql "select op, bytes, error from calls where layer = 'posix' order by start" >"$work/$1.rows"
}
rows "$(uname -m)" build/fathom
rows $machine "$out/fathom"
diff "$work/$(uname -m).rows" "$work/$machine.rows"
echo "emulated: $(wc -l <"$work/$machine.rows") lines of calls are the same on both machines"
