#!/bin/sh
# The shape that lets libfathom.so enter any process: libc only, no exported symbol, little static TLS.
# usage: check_shape.sh LIBFATHOM
set -eu
lib=$1
bad=0

complain() {
	echo "$lib: $1" >&2
	bad=1
}

for needed in $(readelf -dW "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
	case $needed in
	libc.so.6 | libdl.so.2 | ld-linux*) ;;
	*) complain "needs $needed; it may need libc only" ;;
	esac
done

newest=$(objdump -T "$lib" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1)
[ "$(printf '%s\nGLIBC_2.17\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.17 ] ||
	complain "asks for $newest, at most 2.17; runtime/edges/old_libc.c says why"

exported=$(nm -D --defined-only "$lib")
[ -z "$exported" ] || complain "exports symbols: $exported"

# MemSiz is the 6th column of a program header.
tls=$(readelf -lW "$lib" | awk '$1 == "TLS" { print $6 }')
[ -n "$tls" ] || complain "has no thread-local storage: is this the right file?"
[ $((${tls:-0})) -le 128 ] || complain "takes $((tls)) bytes of static TLS, at most 128"

flags=$(readelf -dW "$lib" | sed -n 's/.*(FLAGS_1).*Flags: //p')
for flag in INITFIRST NOW NODELETE; do
	case " $flags " in
	*" $flag "*) ;;
	*) complain "is not linked with $flag" ;;
	esac
done
if readelf -dW "$lib" | grep -q TEXTREL; then
	complain "has text relocations"
fi
[ "$bad" -eq 0 ] && echo "$lib: libc of $newest only, no exported symbol, $((tls)) bytes of TLS"
exit "$bad"
