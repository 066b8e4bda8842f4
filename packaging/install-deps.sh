#!/usr/bin/env bash
# Installs the Debian packages that are missing, and says what else is. Quick when nothing is missing: no network, no root.
# install-deps.sh [--demo|--test]: those of debian-packages-demo.txt and debian-packages.txt; the first only; and of
# debian-packages-test.txt too.
set -euo pipefail
cd "$(dirname "$0")"
lists=(debian-packages-demo.txt)
case "$*" in
--demo) ;;
"") lists+=(debian-packages.txt) ;;
--test) lists+=(debian-packages.txt debian-packages-test.txt) ;;
*) echo "usage: install-deps.sh [--demo|--test]" >&2 && exit 2 ;;
esac

fail() {
	echo "install-deps: $*" >&2
	exit 1
}

wanted() {
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "${lists[@]}"
}

missing_packages() {
	local package
	for package in $(wanted); do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
			echo "$package"
	done
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo env DEBIAN_FRONTEND=noninteractive "$@"
	else
		fail "not root and no sudo; as root run: apt-get install $packages"
	fi
}

# A tool that Debian 12 ships too old, so that it is asked for and not installed.
need_version() {
	local tool=$1 least=$2 hint=$3 found
	command -v "$tool" >/dev/null || fail "$tool is missing; $hint"
	found=$("$tool" --version | grep -oE '[0-9]+\.[0-9]+' | head -n 1)
	[ "$(printf '%s\n%s\n' "$least" "$found" | sort -V | head -n 1)" = "$least" ] ||
		fail "$tool $found is older than $least; $hint"
}

need_version cargo 1.88 "install a current Rust toolchain (Debian 12's is too old)"
if command -v dpkg-query >/dev/null; then
	packages=$(missing_packages | tr '\n' ' ')
	if [ -n "${packages// /}" ]; then
		echo "install-deps: installing $packages" >&2
		export DEBIAN_FRONTEND=noninteractive
		as_root apt-get update -q >&2
		# shellcheck disable=SC2086 # a list of words
		as_root apt-get install -q -y --no-install-recommends $packages >&2
	fi
else
	echo "install-deps: not a Debian system; see ${lists[*]/#/packaging/} for what is needed" >&2
fi
need_version python3 3.11 "install Python 3.11 or newer"
