"""A child of ours, traced: whether the kernel lets us, and what it shows of a thread."""

import ctypes
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_GETREGSET, X86_XSTATE = 0x4206, 0x4207, 0x4204, 0x202
#: More than any processor's state.
ROOM = 1 << 20


class _Piece(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


@contextmanager
def _seized() -> Iterator[tuple[ctypes.CDLL, int]]:
    """The C library and a child that we trace; 0: the kernel does not let us. Nothing says so but the attempt."""
    libc = ctypes.CDLL(None, use_errno=True)
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        allowed = libc.ptrace(PTRACE_SEIZE, child, None, None) == 0
        yield libc, child if allowed else 0
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def allowed() -> bool:
    with _seized() as (_, child):
        return child != 0


def state_bytes() -> int:
    """Of a thread's extended state, as the kernel gives it to a debugger; 0: it does not."""
    room = ctypes.create_string_buffer(ROOM)
    piece = _Piece(ctypes.addressof(room), ROOM)
    kind = ctypes.c_void_p(X86_XSTATE)
    with _seized() as (libc, child):
        if not child or libc.ptrace(PTRACE_INTERRUPT, child, None, None):
            return 0
        os.waitpid(child, 0)
        got = libc.ptrace(PTRACE_GETREGSET, child, kind, ctypes.byref(piece))
        return int(piece.length) if got == 0 else 0
