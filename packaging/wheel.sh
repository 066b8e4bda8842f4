#!/usr/bin/env bash
# wheel.sh DIRECTORY: one wheel for every Python from 3.11 on, the native parts inside, for machines older than this one.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 1 ] || { echo "usage: wheel.sh DIRECTORY" >&2; exit 2; }
packaging/portable.sh
.venv/bin/python packaging/share.py build/fathom build/share
FATHOM_NATIVE=build/portable .venv/bin/python -m pip wheel -q --disable-pip-version-check --no-deps --wheel-dir "$1" .
ls -l "$1"/*.whl
