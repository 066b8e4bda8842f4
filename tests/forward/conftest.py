"""What several tests of forwarding begin with."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def token(tmp_path: Path) -> Path:
    """A file with what a server's clients prove."""
    file = tmp_path / "token"
    file.write_text("correct horse" * 3)
    file.chmod(0o600)
    return file
