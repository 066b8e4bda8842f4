"""File systems of their own: each on an image that is mounted."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness import needs

IMAGE = 320 << 20  # mkfs.xfs makes none below 300 MiB


@contextmanager
def disk(kind: str, place: Path, *options: str) -> Iterator[Path]:
    """A new file system, mounted; skipped where that cannot be."""
    needs.require([f"mkfs.{kind}", "loop"])
    image, at = place / "image", place / "store"
    at.mkdir()
    with image.open("wb") as file:
        file.truncate(IMAGE)
    subprocess.run([f"mkfs.{kind}", "-q", image], check=True, capture_output=True)
    mount = ["mount", "-o", ",".join(["loop", *options]), "-t", kind, image, at]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if "unknown filesystem type" in done.stderr:
        pytest.skip(f"this kernel has no {kind}")
    assert done.returncode == 0, done.stderr
    try:
        yield at
    finally:
        subprocess.run(["umount", at], check=True)


def let_wait(at: Path, most: int) -> None:
    """Writers to this file system pause when so many bytes wait to be written; skipped where that cannot be said."""
    device = at.stat().st_dev
    limits = Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}")
    if not (limits / "max_bytes").exists():
        pytest.skip("the kernel sets no limit of its own for a disk: Linux 6.2")
    (limits / "strict_limit").write_text("1", encoding="ascii")
    (limits / "max_bytes").write_text(str(most), encoding="ascii")
