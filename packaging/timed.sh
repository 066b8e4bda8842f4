#!/usr/bin/env bash
# timed.sh NAME COMMAND…: runs the command, says how many seconds it took, keeps its exit status.
set -uo pipefail
name=$1
shift
began=$SECONDS
printf '== %s\n' "$name"
"$@"
status=$?
printf '== %s: %d s, exit %d\n' "$name" $((SECONDS - began)) "$status"
exit "$status"
