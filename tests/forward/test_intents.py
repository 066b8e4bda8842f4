"""A change of names that cannot be written down first is refused, and nothing of it is done."""

from __future__ import annotations

import errno
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness import needs

from .client import CREATE, EXCLUSIVE, ROOT_HANDLE, WRITE, Client, Refused, Server, server

needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="no strace")

CHANGES: dict[str, Callable[[Client, bytes], Any]] = {
    "open": lambda c, _: c.open("new", CREATE | EXCLUSIVE | WRITE),
    "mkdir": lambda c, _: c.ask("mkdir", ROOT_HANDLE, 0o755, b"new"),
    "mknod": lambda c, _: c.ask("mknod", ROOT_HANDLE, 0o010644, 0, b"new"),
    "symlink": lambda c, _: c.ask("symlink", ROOT_HANDLE, b"new", b"there"),
    "link": lambda c, file: c.ask("link", file, ROOT_HANDLE, b"new"),
    "rename": lambda c, _: c.ask("rename", ROOT_HANDLE, b"f", ROOT_HANDLE, b"new", 0),
    "unlink": lambda c, _: c.ask("unlink", ROOT_HANDLE, b"f"),
    "rmdir": lambda c, _: c.ask("rmdir", ROOT_HANDLE, b"d"),
}


def names(served: Server) -> set[str]:
    return {path.name for path in served.export.iterdir()} - {".fathom-forward"}


def prepared(served: Server) -> tuple[Client, bytes]:
    """A file and a directory, made without the server's journal."""
    (served.export / "f").touch()
    (served.export / "d").mkdir()
    client = served.client()
    return client, client.open("f")


@pytest.mark.parametrize("change", CHANGES)
def test_what_cannot_be_written_down_is_not_done(served: Server, change: str) -> None:
    client, file = prepared(served)
    process, most = served.process.pid, resource.RLIM_INFINITY
    resource.prlimit(process, resource.RLIMIT_FSIZE, (0, most))
    with pytest.raises(Refused, match=r"\.fathom-forward/names: File too large") as refused:
        CHANGES[change](client, file)
    assert refused.value.status == errno.EFBIG
    assert names(served) == {"f", "d"}
    resource.prlimit(process, resource.RLIMIT_FSIZE, (most, most))
    CHANGES[change](client, file)
    assert names(served) != {"f", "d"}


def failing(tmp_path: Path, call: str, error: str) -> list[str]:
    """Where a server is run whose calls of that kind fail."""
    inject = ["-e", f"trace={call}", "-e", f"inject={call}:error={error}"]
    return ["strace", "-D", "-f", "-qq", "-o", str(tmp_path / "trace"), *inject]


@needs_strace
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("error", ["ENOSPC", "EDQUOT"])
def test_on_a_full_disk_removals_are_done(tmp_path: Path, change: str, error: str) -> None:
    under = failing(tmp_path, "pwrite64", error)
    served = Server(tmp_path / "store", "--unix", str(tmp_path / "s"), under=under)
    client, file = prepared(served)
    if change in ("unlink", "rmdir"):
        CHANGES[change](client, file)
        assert len(names(served)) == 1
    else:
        with pytest.raises(Refused) as refused:
            CHANGES[change](client, file)
        assert refused.value.status == getattr(errno, error)
        assert names(served) == {"f", "d"}
    assert served.stop() == 0


@needs_strace
def test_where_the_server_may_make_no_file_its_log_says_so(tmp_path: Path) -> None:
    under = failing(tmp_path, "mkdirat", "EACCES")
    served = Server(tmp_path / "store", "--unix", str(tmp_path / "s"), under=under)
    client, file = prepared(served)
    CHANGES["rename"](client, file)
    CHANGES["rmdir"](client, file)
    assert names(served) == {"new"}
    assert served.stop() == 0
    assert served.log.read_text().count(".fathom-forward/names: Permission denied") == 1


def test_a_disk_that_fills_up_later_leaves_room_for_changes(tmp_path: Path) -> None:
    needs.require(["namespaces"])
    (tmp_path / "store").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", tmp_path / "store"]
    subprocess.run(mount, check=True)
    try:
        with server(tmp_path) as served:
            prepared(served)[0].ask("mkdir", ROOT_HANDLE, 0o755, b"dir")
            with pytest.raises(OSError, match="No space"):
                (served.export / "filler").write_bytes(bytes(2 << 20))
            for _ in range(5):
                client = served.client()
                for _ in range(60):
                    client.ask("rename", ROOT_HANDLE, b"f", ROOT_HANDLE, b"g", 0)
                    client.ask("rename", ROOT_HANDLE, b"g", ROOT_HANDLE, b"f", 0)
    finally:
        subprocess.run(["umount", tmp_path / "store"], check=True)
