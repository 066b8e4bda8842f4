#!/bin/sh
# slow-store.sh PROGRAM…: each access of it below ./out takes 2 ms, and all of them together 500 MB/s, as on a busy file
# system. To be run in the source directory, after `make build`; below `fathom run --`.
export SLOW_STORE_LATENCY_US=2000 SLOW_STORE_RATE_MB=500 SLOW_STORE_UNDER="$PWD/out"
export LD_PRELOAD="$PWD/build/tests/tools/slow_store.so:$LD_PRELOAD"
exec "$@"
