#!/usr/bin/env bash
# The S3D checkpoint kernel on 4 ranks under Fathom, then the report.
# s3d.sh [BUILD_DIRECTORY [RUN_DIRECTORY]]
set -euo pipefail
build=${1:-build}
run=${2:-$build/demo/s3d.fathom}
fathom=${FATHOM:-fathom}
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT

mkdir -p "$(dirname "$run")"
rm -rf "$run"
echo "S3D, 64 x 64 x 64 points, 5 checkpoints with restart, MPI-IO on 4 ranks" >&2
"$fathom" run --no-show -o "$run" -- mpiexec.mpich -n 4 "$build/kernels/s3d_mpiio_mpich" \
	-r -c 5 64 64 64 2 2 1 "$data"
"$fathom" show "$run"
"$fathom" show "$run" --svg "${run%.fathom}.svg"
echo "run directory: $run" >&2
echo "ask more:      $fathom query $run --sql 'select * from calls limit 10'" >&2
