"""What several tests of forwarding begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .client import Server, server


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Server]:
    """A server of an empty directory, on a Unix socket."""
    with server(tmp_path) as started:
        yield started


@pytest.fixture
def token(tmp_path: Path) -> Path:
    """A file with what a server's clients prove."""
    file = tmp_path / "token"
    file.write_text("correct horse" * 3)
    file.chmod(0o600)
    return file
