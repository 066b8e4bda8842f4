#!/usr/bin/env bash
# tests.sh PART…: runs `make test-PART` of each, whatever becomes of the others. At the end: the machine's facts, every test
# that failed, the runners' closing lines. Exit status 1 when a part failed or ran no test.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
make=${MAKE:-make}
logs=build/tests
declare -A status
failed=0

# How a runner's last line looks, and the line of a test that failed.
closing='^test result: .* [1-9][0-9]* (passed|failed)|[0-9]+% tests passed|[0-9]+ (passed|failed)[^;]* in [0-9.]+s|^ *Tests .*[0-9]+ (passed|failed)'
named='^test .* \.\.\. FAILED$|^[[:space:]]*[0-9]+ - .*\([A-Za-z ]+\)$|^(FAILED|ERROR) |^ *FAIL  '

trap 'exit 130' INT
mkdir -p "$logs"
for part in "$@"; do
	"$make" --no-print-directory "test-$part" 2>&1 | tee "$logs/$part.log"
	status[$part]=${PIPESTATUS[0]}
done

plain() { sed -e $'s/\x1b\\[[0-9;]*m//g' "$logs/$1.log"; }

printf '\n== this machine\n'
build/fathom doctor --facts || echo 'not built'
printf '== tests that failed\n'
for part in "$@"; do
	plain "$part" | grep -E "$named" | sort -u | sed "s/^ */$part: /"
done
printf '== closing lines\n'
for part in "$@"; do
	if ! plain "$part" | grep -E "$closing" | sed "s/^/$part: /"; then
		echo "$part: ran no test"
		status[$part]=1
	fi
	[ "${status[$part]}" -eq 0 ] || failed=1
done
for part in "$@"; do
	printf '%s: exit %d; ' "$part" "${status[$part]}"
done
echo
exit "$failed"
