#!/usr/bin/env bash
# portable.sh: what a wheel holds, into build/portable, of what `make build` left: commands that run with glibc 2.28, libraries
# that enter programs of 2.17. Only the linking differs; libfathom.so is like that from the start (runtime/edges/old_libc.c).
set -euo pipefail
cd "$(dirname "$0")/.."
out=build/portable
cargo=(--release --manifest-path engine/Cargo.toml -p fathom-engine)
linker=$PWD/packaging/portable-link.sh

# libfuse of the system's archive, for our glibc, with the versions of symbols that the system's library has; and how
# pkg-config finds it.
link_fuse() {
	local from
	from=$(pkg-config --variable=libdir fuse3)
	nm -D --defined-only --with-symbol-versions "$from/libfuse3.so" | awk '
		{ split($3, at, /@+/); if (at[2]) names[at[2]] = names[at[2]] at[1] "; " }
		END { for (version in names) print version " { global: " names[version] (hidden++ ? "" : "local: *; ") "};" }' >"$out/fuse3.map"
	"$linker" 2.28 cc -shared -o "$out/libfuse3.so.3" -Wl,-soname,libfuse3.so.3 -Wl,--version-script,"$out/fuse3.map" \
		-Wl,--whole-archive "$from/libfuse3.a" -Wl,--no-whole-archive -lpthread -ldl
	ln -sf libfuse3.so.3 "$out/libfuse3.so"
	sed "s|^libdir=.*|libdir=$PWD/$out|" "$(pkg-config --variable=pcfiledir fuse3)/fuse3.pc" >"$out/fuse3.pc"
}

[ -x "$out/venv/bin/python" ] || python3 -m venv "$out/venv"
export PORTABLE_PYTHON=$PWD/$out/venv/bin/python
"$PORTABLE_PYTHON" -m pip install -q --disable-pip-version-check -r packaging/requirements-wheel.txt

mounter=()
if [ -e build/fathom-forward-fuse ]; then
	link_fuse
	mounter=(fathom-forward-fuse)
fi
PKG_CONFIG_PATH=$PWD/$out cmake -S . -B "$out" -G Ninja -DFATHOM_LINKER="$linker" -DPython3_EXECUTABLE="$PWD/.venv/bin/python" >/dev/null
cmake --build "$out" --target fathom fathom_fwd_preload "${mounter[@]}"
cp build/libfathom.so build/libfathom-static.a build/libfathom-names.a build/fathom.specs build/fathom.ld "$out/"
cargo rustc "${cargo[@]}" --bin fathom-engine -- -C linker="$linker"
cp engine/target/release/fathom-engine "$out/"
cargo build "${cargo[@]}" # that of `make build` again
