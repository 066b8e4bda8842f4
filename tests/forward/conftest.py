"""What several tests of forwarding begin with."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def token(tmp_path: Path) -> Path:
    """A file with what a server's clients prove."""
    made = tmp_path / "token"
    made.write_text("correct horse" * 3)
    made.chmod(0o600)
    return made
