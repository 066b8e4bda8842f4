"""Who worked an answer out. Answers lie beside a run's tables, and a run may be a stranger's: what he answered for it
is not believed, but asked anew."""

import contextlib
import hashlib
import os
import secrets
from functools import cache
from pathlib import Path

from fathom.files import is_there, replacing
from fathom.run import paths

BYTES = 32


def sealed(content: bytes) -> bytes | None:
    """What only this user can make of these bytes; None where he has no place for his secret."""
    secret = _secret()
    return secret and hashlib.blake2b(content, key=secret, digest_size=16).hexdigest().encode()


@cache
def _secret() -> bytes | None:
    with contextlib.suppress(OSError, RuntimeError):  # no home, or one that may not be written to
        path = paths.user_cache() / "seal"
        if not is_there(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as partial:
                partial.touch(mode=0o600)
                partial.write_bytes(secrets.token_bytes(BYTES))
        return _read(path)
    return None


def _read(path: Path) -> bytes | None:
    """None of one that another may know."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        known = os.fstat(descriptor)
        is_own = known.st_uid == os.geteuid() and not known.st_mode & 0o077
        secret = os.read(descriptor, BYTES + 1)
    finally:
        os.close(descriptor)
    return secret if is_own and len(secret) == BYTES else None
